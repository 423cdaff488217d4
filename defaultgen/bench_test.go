package defaultgen_test

import (
	"context"
	"testing"
	"time"

	"github.com/uidring/uidring/defaultgen"
)

// BenchmarkSince measures the least cost of an ID: it carries the time.
func BenchmarkSince(b *testing.B) {
	start := time.Now()
	var last time.Duration
	for b.Loop() {
		last = time.Since(start)
	}
	_ = last
}

func BenchmarkNext(b *testing.B) {
	g := open(b, defaultgen.Config{Layout: wide()})
	for b.Loop() {
		if _, err := g.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNextGoOn(b *testing.B) {
	g := open(b, defaultgen.Config{Layout: wide(), OnClockBack: defaultgen.GoOn})
	for b.Loop() {
		if _, err := g.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNextContext(b *testing.B) {
	g := open(b, defaultgen.Config{Layout: wide()})
	ctx := context.Background()
	for b.Loop() {
		if _, err := g.NextContext(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFill256(b *testing.B) {
	g := open(b, defaultgen.Config{Layout: wide()})
	ids := make([]int64, 256)
	for b.Loop() {
		if _, err := g.Fill(ids); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/ID")
}

func BenchmarkSinceParallel(b *testing.B) {
	start := time.Now()
	b.RunParallel(func(pb *testing.PB) {
		var last time.Duration
		for pb.Next() {
			last = time.Since(start)
		}
		_ = last
	})
}

func BenchmarkNextParallel(b *testing.B) {
	g := open(b, defaultgen.Config{Layout: wide()})
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := g.Next(); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkNextContextParallel(b *testing.B) {
	g := open(b, defaultgen.Config{Layout: wide()})
	ctx := context.Background()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := g.NextContext(ctx); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
