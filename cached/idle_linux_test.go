package cached_test

import (
	"log/slog"
	"syscall"
	"testing"
	"time"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/testkit"
)

// BenchmarkIdle measures the CPU time of generators without callers, in µs a second for each, with
// the default MaxStaleness and with none.
func BenchmarkIdle(b *testing.B) {
	for name, staleness := range map[string]time.Duration{"default": 0, "unbounded": -1} {
		b.Run(name, func(b *testing.B) {
			const generators = 1000
			store := new(fakeassigner.Assigner)
			for range generators {
				g, err := cached.New(cached.Config{Assigner: store, MaxStaleness: staleness, Logger: slog.New(slog.DiscardHandler)})
				testkit.Must(b, err)
				defer g.Close()
			}
			before := cpuTime(b)
			for b.Loop() {
				time.Sleep(time.Second)
			}
			b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N)/generators, "cpu-µs/s")
		})
	}
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	testkit.Must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
