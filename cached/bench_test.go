package cached_test

import (
	"testing"

	"github.com/uidring/uidring/cached"
)

// The module bench compares the ways of taking IDs, one and many goroutines, with others and with
// an atomic add. Here are Next and the ways that it leaves out.

func BenchmarkNext(b *testing.B) { benchmarkNext(b, cached.Config{}) }

// BenchmarkNextPadInline has blocks of 16 in a ring of 2, which the padding goroutine cannot keep
// filled.
func BenchmarkNextPadInline(b *testing.B) {
	g := benchmarkNext(b, cached.Config{Layout: narrow(), BoostPower: 1})
	b.ReportMetric(float64(g.Stats().InlinePads)/float64(b.N), "inline-pads/op")
}

func benchmarkNext(b *testing.B, cfg cached.Config) *cached.Generator {
	g := open(b, cfg)
	for b.Loop() {
		if _, err := g.Next(); err != nil {
			b.Fatal(err)
		}
	}
	return g
}

func BenchmarkNextContext(b *testing.B) {
	g, ctx := open(b, cached.Config{}), b.Context()
	for b.Loop() {
		if _, err := g.NextContext(ctx); err != nil {
			b.Fatal(err)
		}
	}
}
