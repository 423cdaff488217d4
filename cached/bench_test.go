package cached_test

import (
	"testing"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/gauge"
	"github.com/uidring/uidring/internal/test/testkit"
)

func BenchmarkNext(b *testing.B)      { measure(b, gauge.Next) }
func BenchmarkLaneNext(b *testing.B)  { measure(b, gauge.LaneNext) }
func BenchmarkAtomicAdd(b *testing.B) { gauge.Measure(b, gauge.CalledAdd()) }

func BenchmarkFill(b *testing.B)        { measure(b, gauge.Fill[*cached.Generator]) }
func BenchmarkReserve(b *testing.B)     { measure(b, gauge.Reserve) }
func BenchmarkFilledSlice(b *testing.B) { gauge.Measure(b, gauge.FilledSlice()) }

func measure(b *testing.B, source func(*cached.Generator) gauge.Source) {
	g, err := gauge.Cached(b.Context(), worker())
	testkit.Must(b, err)
	gauge.Measure(b, source(g))
}
