package generator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uidring/uidring"
)

// A SlowPath takes IDs that may be missing at the moment, and waits for them if the caller wants
// that. The fast path stays in each generator, so that it can be inlined. The fields of a SlowPath
// must not change after the first call. Any number of goroutines may call its methods at once.
type SlowPath struct {
	Name string // of the package; error texts begin with it
	// Take takes up to n consecutive IDs, or returns the reason why there are none. n is at least
	// 1, and ctx is the caller's. If Take returns neither, it is called again.
	Take func(ctx context.Context, n int) (first int64, got int, err error)
	// Changed returns a channel that is closed when Take may have another result.
	Changed func() <-chan struct{}
	// Rejected sees each error before the caller gets it, and may replace it; nil: there was none.
	Rejected func(error) error
	// Closer ends the waits. Once Close was called, ErrClosed takes the place of each error.
	Closer *Closer
}

// Reserve takes up to n consecutive IDs, at least one, or returns an error of Take. For n below 1
// it returns zeros.
func (p *SlowPath) Reserve(n int) (first int64, got int, err error) {
	first, got, err = p.take(context.Background(), n)
	return first, got, p.Rejected(err)
}

// ReserveContext is Reserve, but waits instead of returning an error that passes: for a change, or
// for the time of a Passing. When ctx ends first, it returns an error that wraps ctx's error and
// the reason for waiting. If Take has IDs, ReserveContext returns them even when ctx has ended.
func (p *SlowPath) ReserveContext(ctx context.Context, n int) (first int64, got int, err error) {
	var changed <-chan struct{}
	for {
		first, got, err = p.take(ctx, n)
		if _, passes := uidring.RetryAfter(err); !passes {
			return first, got, p.Rejected(err)
		}
		if changed == nil { // make the channel only when the caller has to wait, then try again
			changed = p.Changed()
			continue
		}
		var retry <-chan time.Time
		if e, ok := errors.AsType[Passing](err); ok {
			retry = time.After(min(e.After, time.Second)) // the clock may be set ahead meanwhile
		}
		select {
		case <-changed:
		case <-retry:
		case <-p.Closer.Done():
		case <-ctx.Done():
			return 0, 0, p.Rejected(fmt.Errorf("%s: waiting for an ID: %w: %w", p.Name, Ended(ctx), err))
		}
		changed = nil
	}
}

func (p *SlowPath) take(ctx context.Context, n int) (first int64, got int, err error) {
	for n > 0 && got == 0 && err == nil {
		first, got, err = p.Take(ctx, n)
	}
	if err != nil && p.Closer.Closed() {
		err = uidring.ErrClosed
	}
	return first, got, err
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
