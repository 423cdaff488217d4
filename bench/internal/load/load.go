// Package load takes IDs from generators with many goroutines, and measures it.
package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/defaultgen"
)

// Stride is the number of IDs that a goroutine takes one by one before it looks at the stop flag
// again.
const Stride = 256

// ErrNoID is the error of a lap that was too short, or too disturbed, to take a single ID.
var ErrNoID = errors.New("no ID")

// A Taker takes n IDs for one goroutine. It returns the last of them, or some function of it, so
// that the compiler keeps the calls. Each generator has a Taker with a loop of its own, since a
// call through a func for each ID would cost as much as the fastest generator.
type Taker func(n int) (last int64, err error)

// A Source is a generator, or a baseline in its place.
type Source struct {
	Join  func() (take Taker, leave func()) // for one goroutine
	Close func() error
}

// Shared returns a source whose goroutines share one Taker.
func Shared(take Taker, close func() error) Source {
	return Source{func() (Taker, func()) { return take, func() {} }, close}
}

// Close closes nothing.
func Close() error { return nil }

// Cached returns a source that takes IDs as l says. A call that the generator rejects because its
// ring is empty is made again.
func Cached(g *cached.Generator, l Load) Source {
	switch {
	case l.Lanes == LanePerGoroutine:
		return Source{func() (Taker, func()) {
			lane := g.Lane()
			return func(n int) (last int64, err error) {
				for done := 0; done < n; {
					for ; done < n; done++ { // by itself: Lane.Next is so short that a retry in this loop would show
						if last, err = lane.Next(); err != nil {
							break
						}
					}
					if err = Retry(err); err != nil {
						return 0, err
					}
				}
				return last, nil
			}, lane.Close
		}, g.Close}
	case l.Batch == 0:
		return Shared(func(n int) (last int64, err error) {
			for i := 0; i < n; i++ {
				if last, err = g.Next(); err != nil {
					if err = Retry(err); err != nil {
						return 0, err
					}
					i--
				}
			}
			return last, nil
		}, g.Close)
	}
	return Source{func() (Taker, func()) {
		dst := make([]int64, l.Batch)
		return func(n int) (last int64, err error) {
			for n > 0 {
				got, err := g.Fill(dst[:min(n, l.Batch)])
				if err := Retry(err); err != nil {
					return 0, err
				}
				if n -= got; got > 0 {
					last = dst[got-1]
				}
			}
			return last, nil
		}, func() {}
	}, g.Close}
}

// Retry returns nil if the caller should try again at once: the ring is empty and OnEmpty is
// Reject, or the unit has no more sequence numbers. It yields first, so that the padding goroutine
// runs. Other errors it returns.
func Retry(err error) error {
	if errors.Is(err, cached.ErrLeaseExhausted) || !errors.Is(err, cached.ErrEmpty) && !errors.Is(err, defaultgen.ErrSequenceExhausted) {
		return err
	}
	runtime.Gosched()
	return nil
}

// The values of Load.Lanes.
const (
	LanesOff         = "off"
	LanePerCPU       = "cpu"       // the generator has them
	LanePerGoroutine = "goroutine" // each takes IDs from a Lane of its own
)

// A Load says how many goroutines take IDs, how, and how fast.
type Load struct {
	Goroutines int     `json:"goroutines"`
	Batch      int     `json:"batch"`           // IDs per call of Fill; 0: Next
	Lanes      string  `json:"lanes"`           // LanesOff, the same as empty, or another; then Batch is 0
	Rate       float64 `json:"rate_per_second"` // of all goroutines together; 0: flat out
}

// A pace holds goroutines up between turns.
type pace struct {
	limiter *rate.Limiter // nil: flat out
	calls   int           // per turn
	ids     int           // per turn
}

// pace returns the pace that the goroutines of one race share. With a rate, a turn is the calls due
// in about a millisecond, since timers are hardly finer; up to 10 ms are caught up with.
func (l Load) pace() pace {
	p := pace{calls: max(1, Stride/max(1, l.Batch))}
	if l.Rate > 0 {
		due := l.Rate / float64(l.Goroutines) / 1000 / float64(max(1, l.Batch))
		p.calls = int(min(max(1, due), float64(p.calls)))
	}
	p.ids = p.calls * max(1, l.Batch)
	if l.Rate > 0 {
		burst := int(min(max(float64(p.ids), math.Ceil(l.Rate/100)), math.MaxInt32))
		p.limiter = rate.NewLimiter(rate.Limit(l.Rate), burst)
		p.limiter.AllowN(time.Now(), burst) // starts with nothing to catch up with
	}
	return p
}

// wait returns false when the race is over.
func (p pace) wait(ctx context.Context) bool {
	return p.limiter == nil || p.limiter.WaitN(ctx, p.ids) == nil
}

// Turns returns a func that runs turns on one goroutine until stop is set: at least one turn if the
// load has no rate. A turn gets the number of IDs to take. All goroutines of a race have to use the
// same func.
func (l Load) Turns() func(ctx context.Context, stop *atomic.Bool, turn func(calls, ids int) error) error {
	p := l.pace()
	return func(ctx context.Context, stop *atomic.Bool, turn func(calls, ids int) error) error {
		y := newYielder(l.Goroutines)
		for more := true; more && p.wait(ctx); more = !stop.Load() {
			if err := turn(p.calls, p.ids); err != nil {
				return err
			}
			y.step()
		}
		return nil
	}
}

// A Lap is the result of one race.
type Lap struct {
	IDs       []int64 // by goroutine
	Last      int64   // largest ID
	Wall, CPU time.Duration
}

// Total returns the number of IDs.
func (l Lap) Total() (n int64) {
	for _, ids := range l.IDs {
		n += ids
	}
	return n
}

// WallNs returns nanoseconds per ID, all goroutines together.
func (l Lap) WallNs() float64 { return float64(l.Wall.Nanoseconds()) / float64(l.Total()) }

// CPUNs returns nanoseconds of CPU time of the process per ID; 0 if the system does not tell.
func (l Lap) CPUNs() float64 { return float64(l.CPU.Nanoseconds()) / float64(l.Total()) }

// Fairness returns the smallest share of a goroutine over the largest.
func (l Lap) Fairness() float64 { return float64(slices.Min(l.IDs)) / float64(slices.Max(l.IDs)) }

// Run takes IDs from the source for d. It does nothing else that the figures would include.
func (l Load) Run(ctx context.Context, src Source, d time.Duration) (Lap, error) {
	lap := Lap{IDs: make([]int64, l.Goroutines)}
	lasts := make([]int64, l.Goroutines)
	turns := l.Turns()
	before := cpuTime()
	wall, err := Race(ctx, l.Goroutines, d, func(ctx context.Context, i int, stop *atomic.Bool) error {
		take, leave := src.Join()
		defer leave()
		ids, last := int64(0), int64(0)
		err := turns(ctx, stop, func(_, n int) (err error) {
			last, err = take(n)
			ids += int64(n)
			return err
		})
		lap.IDs[i], lasts[i] = ids, last
		return err
	})
	lap.Wall, lap.CPU, lap.Last = wall, cpuTime()-before, slices.Max(lasts)
	if err == nil && lap.Total() == 0 {
		err = fmt.Errorf("%w within %v; choose a longer --duration or a higher --rate", ErrNoID, d)
	}
	return lap, err
}
