package generator

import (
	"context"
	"fmt"
)

// A SlowPath hands out IDs of a ring that may be empty: it waits for an ID, fills a slice, reserves
// a range. The fast path, a take from the ring, stays in each generator, so that it can be inlined.
// The fields of a SlowPath must not change after the first call. Any number of goroutines may call
// its methods at once.
type SlowPath struct {
	Name string // of the package; error texts begin with it
	// Refill is called by a caller that has found the ring empty, with the context of that caller.
	// When it returns nil, the caller tries to take again.
	Refill func(ctx context.Context) error
	// Passing reports whether an error may stop occurring while the generator lives; false for nil.
	Passing func(error) bool
	// Rejected sees each error before the caller gets it, and may replace it.
	Rejected func(error) error
	// Filled wakes waiting callers after blocks have been put, or after a permanent error.
	Filled Notifier
}

// Next returns the next ID of take, or an error of Refill.
func (p *SlowPath) Next(take func() (int64, bool)) (int64, error) {
	id, err := p.next(context.Background(), take)
	return id, p.Rejected(err)
}

// NextContext is Next, but waits instead of returning an error that passes. When ctx ends first, it
// returns an error that wraps ctx's error and the reason for waiting. If take has an ID,
// NextContext returns it even when ctx has ended.
func (p *SlowPath) NextContext(ctx context.Context, take func() (int64, bool)) (int64, error) {
	var padded <-chan struct{}
	for {
		id, err := p.next(ctx, take)
		if !p.Passing(err) {
			return id, p.Rejected(err)
		}
		if padded == nil { // make the channel only when the caller has to wait, then try again
			padded = p.Filled.Wait()
			continue
		}
		select {
		case <-padded:
			padded = nil
		case <-ctx.Done():
			return 0, p.Rejected(fmt.Errorf("%s: waiting for an ID: %w: %w", p.Name, Ended(ctx), err))
		}
	}
}

func (p *SlowPath) next(ctx context.Context, take func() (int64, bool)) (int64, error) {
	for {
		if id, ok := take(); ok { // after Filled.Wait, a caller must try again
			return id, nil
		}
		if err := p.Refill(ctx); err != nil {
			return 0, err
		}
	}
}

// Fill fills dst by calls of reserve, and returns the number of IDs. If that is less than len(dst),
// it also returns the error of reserve.
func Fill(dst []int64, reserve func(n int) (first int64, got int, err error)) (n int, err error) {
	for n < len(dst) {
		first, got, err := reserve(len(dst) - n)
		if err != nil {
			return n, err
		}
		write(dst[n:n+got], first)
		n += got
	}
	return n, nil
}

// write fills dst with consecutive numbers, four at a time: one at a time would take twice as long.
func write(dst []int64, first int64) {
	for ; len(dst) >= 4; dst, first = dst[4:], first+4 { //mutate:false,number,operator the second loop would write more
		dst[0], dst[1], dst[2], dst[3] = first, first+1, first+2, first+3
	}
	for i := range dst {
		dst[i] = first + int64(i)
	}
}

// Reserve takes up to n consecutive IDs by takeBlock, at least one, or returns an error of Refill.
// For n below 1 it returns zeros.
func (p *SlowPath) Reserve(n int, takeBlock func(int) (int64, int, bool)) (first int64, got int, err error) {
	for n > 0 {
		if first, got, ok := takeBlock(n); ok {
			return first, got, nil
		}
		if err := p.Refill(context.Background()); err != nil {
			return 0, 0, p.Rejected(err)
		}
	}
	return 0, 0, nil
}

// ReserveContext is Reserve, but waits as NextContext does.
func (p *SlowPath) ReserveContext(ctx context.Context, n int, takeBlock func(int) (int64, int, bool)) (first int64, got int, err error) {
	if n < 1 {
		return 0, 0, nil
	}
	first, err = p.NextContext(ctx, func() (id int64, ok bool) {
		if id, got, ok = takeBlock(n); !ok {
			got = 0
		}
		return id, ok
	})
	return first, got, err
}
