package segment_test

import (
	"testing"

	"github.com/uidring/uidring/internal/test/gauge"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/segment"
)

func BenchmarkNext(b *testing.B)      { measure(b, gauge.SegmentNext) }
func BenchmarkLaneNext(b *testing.B)  { measure(b, gauge.SegmentLaneNext) }
func BenchmarkAtomicAdd(b *testing.B) { gauge.Measure(b, gauge.CalledAdd()) }

func BenchmarkFill(b *testing.B)        { measure(b, gauge.Fill[*segment.Generator]) }
func BenchmarkFilledSlice(b *testing.B) { gauge.Measure(b, gauge.FilledSlice()) }

func measure(b *testing.B, source func(*segment.Generator) gauge.Source) {
	g, err := gauge.Segment(b.Context())
	testkit.Must(b, err)
	gauge.Measure(b, source(g))
}
