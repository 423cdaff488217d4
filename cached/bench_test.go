package cached_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
)

func BenchmarkAtomicAdd(b *testing.B) {
	var n atomic.Uint64
	for b.Loop() {
		n.Add(1)
	}
}

func BenchmarkMutexCounter(b *testing.B) {
	var mu sync.Mutex
	n := 0
	for b.Loop() {
		mu.Lock()
		n++
		mu.Unlock()
	}
}

func newGenerator(b *testing.B) *cached.Generator {
	g, err := cached.New(cached.Config{Assigner: assigner.Static(1), AllowReuse: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { g.Close() })
	return g
}

func BenchmarkNext(b *testing.B) {
	g := newGenerator(b)
	for b.Loop() {
		if _, err := g.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFill256(b *testing.B) {
	g := newGenerator(b)
	dst := make([]int64, 256)
	for b.Loop() {
		if _, err := g.Fill(dst); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/ID")
}

func BenchmarkAtomicAddParallel(b *testing.B) {
	var n atomic.Uint64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			n.Add(1)
		}
	})
}

func BenchmarkNextParallel(b *testing.B) {
	g := newGenerator(b)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := g.Next(); err != nil {
				b.Error(err)
			}
		}
	})
}
