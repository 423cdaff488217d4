package defaultgen_test

import (
	"context"
	"sync"
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

// A locked is the baseline: the algorithm of bwmarrin/snowflake with 20 step bits, a mutex around
// one reading of the monotonic clock and a counter. It looks at no wall clock and no lease.
type locked struct {
	mu    sync.Mutex
	epoch time.Time
	ms    int64
	step  int64
}

func (l *locked) next() int64 {
	const mask = 1<<20 - 1
	l.mu.Lock()
	now := time.Since(l.epoch).Nanoseconds() / 1e6
	if now == l.ms {
		if l.step = (l.step + 1) & mask; l.step == 0 {
			for now <= l.ms {
				now = time.Since(l.epoch).Nanoseconds() / 1e6
			}
		}
	} else {
		l.step = 0
	}
	l.ms = now
	id := now<<22 | 1<<20 | l.step
	l.mu.Unlock()
	return id
}

func BenchmarkMutex(b *testing.B) {
	l := &locked{epoch: time.Now()}
	for b.Loop() {
		l.next()
	}
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

func BenchmarkMutexParallel(b *testing.B) {
	l := &locked{epoch: time.Now()}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			l.next()
		}
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
