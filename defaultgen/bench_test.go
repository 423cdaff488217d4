package defaultgen_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/defaultgen"
)

// BenchmarkTimeNow is what an ID costs at least: it carries the time.
func BenchmarkTimeNow(b *testing.B) {
	var last int64
	for b.Loop() {
		last = time.Now().UnixMilli()
	}
	_ = last
}

// A locked is the same generator with a mutex for the swap, and without policies, workers that change, or
// anything else.
type locked struct {
	mu    sync.Mutex
	epoch int64
	last  int64
}

func (l *locked) next() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = max(l.last+1, (time.Now().UnixMilli()-l.epoch)/1000<<30)
	return l.last
}

func BenchmarkMutex(b *testing.B) {
	l := &locked{epoch: bubbleStart.UnixMilli()}
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

// BenchmarkNextGoOn reads the monotonic clock, too.
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

func BenchmarkTimeNowParallel(b *testing.B) {
	b.RunParallel(func(pb *testing.PB) {
		var last int64
		for pb.Next() {
			last = time.Now().UnixMilli()
		}
		_ = last
	})
}

func BenchmarkMutexParallel(b *testing.B) {
	l := &locked{epoch: bubbleStart.UnixMilli()}
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
