package defaultgen_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/gauge"
	"github.com/uidring/uidring/internal/test/testkit"
)

func BenchmarkNext(b *testing.B) {
	g, err := gauge.Defaultgen(b.Context(), gauge.Wide(), 1)
	testkit.Must(b, err)
	gauge.Measure(b, gauge.DefaultgenNext(g))
}

func BenchmarkAtomicAdd(b *testing.B) { gauge.Measure(b, gauge.CalledAdd()) }

// BenchmarkFill has 2^30 IDs a millisecond, or it would wait for the clock.
func BenchmarkFill(b *testing.B) {
	g, err := defaultgen.NewContext(b.Context(), defaultgen.Config{
		Layout: bitsalloc.Layout{DeltaBits: 33, SequenceBits: 30, Unit: time.Millisecond},
		Epoch:  time.Now().Add(-time.Hour).Truncate(time.Millisecond), Assigner: assigner.Static(0), AllowReuse: true,
		Logger: slog.New(slog.DiscardHandler),
	})
	testkit.Must(b, err)
	gauge.Measure(b, gauge.Fill(g))
}

func BenchmarkFilledSlice(b *testing.B) { gauge.Measure(b, gauge.FilledSlice()) }
