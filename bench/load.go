package main

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/uidring/uidring/cached"
)

// stride is how many IDs a goroutine takes with Next between two looks at whether it shall stop.
const stride = 256

// A load takes IDs from a generator in the way that the flags say.
type load struct {
	gen        *cached.Generator
	goroutines int
	batch      int     // 0: Next
	rate       float64 // over all goroutines; 0: flat out
}

// A pace says how many calls a goroutine makes in a row, and holds it up before them.
type pace struct {
	limiter *rate.Limiter // nil: flat out
	calls   int
	ids     int // of that many calls
}

// pace returns the pace that the goroutines of one race share. Paced, a goroutine takes what is due in
// about a millisecond at a time, since timers are hardly finer; up to 10 ms are caught up with.
func (l load) pace() pace {
	p := pace{calls: max(1, stride/max(1, l.batch))}
	if l.rate > 0 {
		due := l.rate / float64(l.goroutines) / 1000 / float64(max(1, l.batch))
		p.calls = int(min(max(1, due), float64(p.calls)))
	}
	p.ids = p.calls * max(1, l.batch)
	if l.rate > 0 {
		burst := int(min(max(float64(p.ids), math.Ceil(l.rate/100)), math.MaxInt32))
		p.limiter = rate.NewLimiter(rate.Limit(l.rate), burst)
		p.limiter.AllowN(time.Now(), burst) // starts with nothing to catch up with
	}
	return p
}

// wait returns false when the race is over.
func (p pace) wait(ctx context.Context) bool {
	return p.limiter == nil || p.limiter.WaitN(ctx, p.ids) == nil
}

// A tally is what one goroutine has taken.
type tally struct{ ids, last int64 }

// take takes IDs until stop is set, one turn at least unless the load is paced. It does nothing else, so that the
// figures are those of the generator.
func (l load) take(ctx context.Context, stop *atomic.Bool, p pace) (tally, error) {
	if l.batch > 0 {
		return l.takeBatches(ctx, stop, p)
	}
	var t tally
	for more := true; more && p.wait(ctx); more = !stop.Load() {
		got, err := take(l.gen, p.calls)
		t.ids += got.ids
		t.last = max(t.last, got.last) // 0 when the turn ended with a failure
		if err != nil {
			return t, err
		}
	}
	return t, nil
}

// take calls Next n times. It counts what failed, since every write beside Next would be measured with it.
func take(gen *cached.Generator, n int) (t tally, err error) {
	failed, last := 0, int64(0)
	for i := range n {
		if last, err = gen.Next(); err == nil {
			continue
		}
		if err = retry(err); err != nil {
			return tally{int64(i - failed), last}, err
		}
		failed++
	}
	return tally{int64(n - failed), last}, nil
}

func (l load) takeBatches(ctx context.Context, stop *atomic.Bool, p pace) (t tally, err error) {
	dst := make([]int64, l.batch)
	for more := true; more && p.wait(ctx); more = !stop.Load() {
		for range p.calls {
			n, err := l.gen.Fill(dst)
			if n > 0 {
				t.ids += int64(n)
				t.last = dst[n-1]
			}
			if err := retry(err); err != nil {
				return t, err
			}
		}
	}
	return t, nil
}

// collect takes the IDs of one turn of p into dst, which has room for them.
func (l load) collect(dst []int64, p pace) ([]int64, error) {
	for range p.calls {
		if l.batch > 0 {
			n, err := l.gen.Fill(dst[len(dst) : len(dst)+l.batch])
			dst = dst[:len(dst)+n]
			if err := retry(err); err != nil {
				return dst, err
			}
			continue
		}
		id, err := l.gen.Next()
		if err == nil {
			dst = append(dst, id)
		} else if err := retry(err); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// retry returns nil when it is worth trying again at once: the ring was empty and callers are rejected.
// The generator counts them. The padding goroutine gets the CPU first.
func retry(err error) error {
	if !errors.Is(err, cached.ErrEmpty) || errors.Is(err, cached.ErrLeaseExhausted) {
		return err
	}
	runtime.Gosched()
	return nil
}
