package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
)

// newGenerator makes one with settings that differ from the plain ones. Tests of this package
// have their own worker IDs, since a worker ID belongs to one generator of a process at a time.
func newGenerator(t *testing.T, worker int64, change func(s *settings)) (*cached.Generator, settings) {
	t.Helper()
	s := plain()
	s.goroutines = 3
	change(&s)
	g, err := cached.New(s.config(assigner.Static(worker)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g, s
}

func loadOf(g *cached.Generator, s settings) load { return load{g, s.goroutines, s.batch, s.rate} }

// The loads that the phases are tried with.
func loads() map[string]func(s *settings) {
	return map[string]func(s *settings){
		"Next":                func(*settings) {},
		"Fill":                func(s *settings) { s.batch = 100 },
		"Fill beyond a ring":  func(s *settings) { s.batch, s.boostPower = 20_000, 1 },
		"Next, rejected":      func(s *settings) { s.onEmpty, s.boostPower, s.paddingFactor = "reject", 1, 1 },
		"Fill, rejected":      func(s *settings) { s.onEmpty, s.boostPower, s.batch = "reject", 1, 1_000 },
		"one ID per unit":     func(s *settings) { s.layout = bitsalloc.Layout{DeltaBits: 45, WorkerBits: 17, Unit: time.Second} },
		"leased layout":       func(s *settings) { s.layout = bitsalloc.Leased() },
		"milliseconds, paced": func(s *settings) { s.layout, s.rate = bitsalloc.Snowflake(), 1e6 },
		"paced batches":       func(s *settings) { s.rate, s.batch = 1e6, 512 },
	}
}

func TestCheckPhaseCountsAsManyIDsAsTheGeneratorIssued(t *testing.T) {
	for name, change := range loads() {
		t.Run(name, func(t *testing.T) {
			g, s := newGenerator(t, 10, change)
			const target = 50_000
			c := checkPhase{load: loadOf(g, s), alloc: newAllocator(t, s.layout), target: target}
			r, err := c.run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if issued := g.Stats().Issued; r.ids < target || r.ids != issued || c.taken.Load()+1 != issued {
				t.Errorf("%d IDs checked, %d taken, %d issued; wanted %d or more", r.ids, c.taken.Load()+1, issued, target)
			}
		})
	}
}

func TestCheckPhaseRefusesIDsBelowThoseOfEarlierPhases(t *testing.T) {
	g, s := newGenerator(t, 11, func(*settings) {})
	id, err := g.Next()
	if err != nil {
		t.Fatal(err)
	}
	c := checkPhase{load: loadOf(g, s), alloc: newAllocator(t, s.layout), before: id + 1, target: 10}
	if _, err := c.run(t.Context()); !errors.Is(err, errOrder) {
		t.Errorf("error %v, want %v", err, errOrder)
	}
}

func TestMeasuredIDsAreThoseThatTheGeneratorIssued(t *testing.T) {
	for name, change := range loads() {
		t.Run(name, func(t *testing.T) {
			g, s := newGenerator(t, 12, change)
			l := loadOf(g, s)
			m, err := measure(t.Context(), l, 60*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			columns := 2
			if s.rate > 0 {
				columns = 0
			}
			// With several goroutines, one alone takes IDs as well.
			if issued := g.Stats().Issued; m.ids < 1 || m.ids > issued || s.rate > 0 && m.ids != issued || m.wall <= 0 || m.last < 1 {
				t.Errorf("%d IDs in %v, the last one %d; %d were issued", m.ids, m.wall, m.last, issued)
			}
			if len(m.columns) != columns {
				t.Fatalf("%d columns, want %d", len(m.columns), columns)
			}
			for _, c := range m.columns {
				if len(c.adds) != rounds || len(c.mutexes) != rounds || len(c.takes) != rounds || c.ratio() <= 0 {
					t.Errorf("column %+v, want %d figures each", c, rounds)
				}
			}
		})
	}
}

func TestCallsAreTimed(t *testing.T) {
	for name, change := range loads() {
		t.Run(name, func(t *testing.T) {
			g, s := newGenerator(t, 13, change)
			r, err := timeCalls(t.Context(), loadOf(g, s), 30*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			if issued := g.Stats().Issued; r.histogram.TotalCount() > issued || r.last < 1 || r.at(50) > r.longest() {
				t.Errorf("%d samples, the last ID %d, p50 %v, max %v; %d issued", r.histogram.TotalCount(), r.last, r.at(50), r.longest(), issued)
			}
		})
	}
}

func TestPaceIsKept(t *testing.T) {
	g, s := newGenerator(t, 14, func(s *settings) { s.rate = 50_000 })
	m, err := measure(t.Context(), loadOf(g, s), 200*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if most := int64(s.rate*m.wall.Seconds()) + 5*int64(s.rate/100); m.ids > most {
		t.Errorf("%d IDs in %v, allowed at this rate: %d", m.ids, m.wall, most)
	}
}

func TestARateThatGivesNoIDInTimeIsSaidToBeTooLow(t *testing.T) {
	g, s := newGenerator(t, 15, func(s *settings) { s.rate = 0.1 })
	if m, err := measure(t.Context(), loadOf(g, s), 10*time.Millisecond); err == nil {
		t.Errorf("%d IDs, want an error", m.ids)
	}
	if r, err := timeCalls(t.Context(), loadOf(g, s), 10*time.Millisecond); err == nil {
		t.Errorf("%d calls, want an error", r.histogram.TotalCount())
	}
}

func TestUsedUpDeltaFieldEndsTheRunWithAdvice(t *testing.T) {
	now := bitsalloc.Layout{DeltaBits: 1, WorkerBits: 17, Unit: time.Minute} // few units, soon used up
	for newAllocator(t, now).Expires().Before(time.Now().Add(24 * time.Hour)) {
		now.DeltaBits++
	}
	// Repeated in one process, the test needs another worker: this one has no time left afterwards.
	g, s := newGenerator(t, 16+rand.Int64N(100_000), func(s *settings) { s.layout = now })
	o := outcome{settings: s, alloc: newAllocator(t, now)}
	o.settings.duration = time.Minute
	err := explain(o.phases(t.Context(), g, nil))
	if !errors.Is(err, cached.ErrTimeExhausted) {
		t.Fatalf("error %v, want %v", err, cached.ErrTimeExhausted)
	}
	if text := oneLine(err); !strings.Contains(text, "measuring") || !strings.Contains(text, "-layout") {
		t.Errorf("the error does not say when, or what to do: %s", text)
	}
}

func TestRaceEndsInTimeOnErrorsAndWithItsContext(t *testing.T) {
	spin := func(ctx context.Context, i int, stop *atomic.Bool) error {
		<-ctx.Done()
		for !stop.Load() {
		}
		return nil
	}
	if wall, err := race(t.Context(), 2, time.Millisecond, spin); err != nil || wall < time.Millisecond {
		t.Errorf("ended after %v with %v", wall, err)
	}
	broken := errors.New("broken")
	_, err := race(t.Context(), 2, 0, func(ctx context.Context, i int, stop *atomic.Bool) error {
		if i == 1 {
			return broken
		}
		return spin(ctx, i, stop)
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := race(ctx, 2, 0, spin); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		list []float64
		want float64
	}{
		{[]float64{3}, 3},
		{[]float64{9, 1, 2}, 2},
		{[]float64{9, 1, 2, 4}, 3},
	} {
		if got := median(tt.list); got != tt.want {
			t.Errorf("median of %v: %v, want %v", tt.list, got, tt.want)
		}
	}
}
