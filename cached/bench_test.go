package cached_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/testkit/baseline"
)

// Each benchmark has a twin that does as little as can be done in its place: compare the two of one
// run.

func BenchmarkAtomicAdd(b *testing.B) { baseline.AtomicAdd(b) }

func BenchmarkMutexCounter(b *testing.B) { baseline.Mutex(b) }

// benchmarkNext takes IDs of a generator by Next, on one goroutine.
func benchmarkNext(b *testing.B, cfg cached.Config) *cached.Generator {
	g := open(b, cfg)
	for b.Loop() {
		if _, err := g.Next(); err != nil {
			b.Fatal(err)
		}
	}
	return g
}

func benchmarkNextParallel(b *testing.B, cfg cached.Config) {
	g := open(b, cfg)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := g.Next(); err != nil {
				b.Error(err)
			}
		}
	})
}

// tiny has blocks of 16 in a ring of 2, which the padding goroutine cannot keep filled.
func tiny() cached.Config { return cached.Config{Layout: narrow(), BoostPower: 1} }

func BenchmarkNext(b *testing.B)         { benchmarkNext(b, cached.Config{}) }
func BenchmarkNextParallel(b *testing.B) { benchmarkNextParallel(b, cached.Config{}) }

func BenchmarkNextPadInline(b *testing.B) {
	g := benchmarkNext(b, tiny())
	b.ReportMetric(float64(g.Stats().InlinePads)/float64(b.N), "inline-pads/op")
}

func BenchmarkNextPadInlineParallel(b *testing.B) { benchmarkNextParallel(b, tiny()) }

func BenchmarkNextContext(b *testing.B) {
	g, ctx := open(b, cached.Config{}), b.Context()
	for b.Loop() {
		if _, err := g.NextContext(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCopy256 is the twin of BenchmarkFill256.
func BenchmarkCopy256(b *testing.B) {
	var n atomic.Uint64
	dst := make([]int64, 256)
	for b.Loop() {
		first := int64(n.Add(256))
		for i := range dst {
			dst[i] = first + int64(i)
		}
	}
	perID(b)
}

func BenchmarkFill256(b *testing.B) {
	g := open(b, cached.Config{})
	dst := make([]int64, 256)
	for b.Loop() {
		if _, err := g.Fill(dst); err != nil {
			b.Fatal(err)
		}
	}
	perID(b)
}

func perID(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/ID")
}

func BenchmarkAtomicAddParallel(b *testing.B) { baseline.AtomicAddParallel(b) }

func BenchmarkMutexCounterParallel(b *testing.B) { baseline.MutexParallel(b) }

func BenchmarkLane(b *testing.B) {
	g := open(b, cached.Config{})
	l := g.Lane()
	defer l.Close()
	for b.Loop() {
		if _, err := l.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLaneParallel(b *testing.B) {
	g := open(b, cached.Config{})
	b.RunParallel(func(pb *testing.PB) {
		l := g.Lane()
		defer l.Close()
		for pb.Next() {
			if _, err := l.Next(); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkLanePoolParallel(b *testing.B) {
	g := open(b, cached.Config{})
	lanes := sync.Pool{New: func() any { return g.Lane() }}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			l := lanes.Get().(*cached.Lane)
			if _, err := l.Next(); err != nil {
				b.Error(err)
			}
			lanes.Put(l)
		}
	})
}

func BenchmarkReserve256(b *testing.B) {
	g := open(b, cached.Config{})
	ids := 0
	for b.Loop() {
		_, n, err := g.Reserve(256)
		if err != nil {
			b.Fatal(err)
		}
		ids += n
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(ids), "ns/ID")
}
