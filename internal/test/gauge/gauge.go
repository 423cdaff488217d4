// Package gauge has the loops that take IDs and the baselines beside them: the benchmarks of the
// packages and the command bench measure the same code.
package gauge

import "testing"

// Stride is the number of IDs that a goroutine takes before it looks at the stop flag again, and
// the number that Fill and Reserve take at once.
const Stride = 256

// A Taker takes n IDs for one goroutine. It returns the last ID, or some function of it, so that
// the compiler keeps the calls. Fast generators have a Taker with a loop of its own: the call of
// a func for each ID would show.
type Taker func(n int) (last int64, err error)

// A Source is a generator, or a baseline in its place.
type Source struct {
	Join  func() Taker // for one goroutine
	Close func() error
}

// Shared returns a source whose goroutines share one Taker.
func Shared(take Taker, close func() error) Source {
	return Source{func() Taker { return take }, close}
}

// Nothing closes nothing.
func Nothing() error { return nil }

// Each returns a Taker that calls next for each ID.
func Each(next func() (int64, error)) Taker {
	return func(n int) (last int64, err error) {
		for range n {
			if last, err = next(); err != nil {
				return 0, err
			}
		}
		return last, nil
	}
}

// Measure reports the time per ID of a source, on one goroutine and on all CPUs, and closes it.
func Measure(b *testing.B, src Source) {
	b.Run("one", func(b *testing.B) {
		take := src.Join()
		for b.Loop() {
			if _, err := take(Stride); err != nil {
				b.Fatal(err)
			}
		}
		perID(b)
	})
	b.Run("all", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			take := src.Join()
			for pb.Next() {
				if _, err := take(Stride); err != nil {
					b.Error(err)
					return
				}
			}
		})
		perID(b)
	})
	if err := src.Close(); err != nil {
		b.Error(err)
	}
}

// perID replaces the time of a stride by the wall time per ID, all goroutines together.
func perID(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/Stride, "ns/ID")
	b.ReportMetric(0, "ns/op")
}
