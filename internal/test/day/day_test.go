// Package day_test has the days of a service: restarts, rolling updates, crash loops and outages,
// with real generators and leases on a store in memory, in fake time.
package day_test

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/kvassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/gentest"
	"github.com/uidring/uidring/internal/test/memkv"
	"github.com/uidring/uidring/internal/test/testkit"
)

const (
	window = 2 * time.Minute
	step   = time.Second // of a claim ahead of the clock
)

// A pod is a process: its client of the store, whose calls fail when it is killed.
type pod struct {
	memkv.KV
	killed atomic.Bool
	gen    gentest.Generator
}

// try starts a process with a kind of generator.
func (c *cluster) try(kind string) (p *pod, err error) {
	p = new(pod)
	p.Server, p.Now = c.Server, time.Now
	p.Before = func(ctx context.Context, _, _ string) error {
		if p.killed.Load() {
			return cmp.Or(ctx.Err(), memkv.ErrDown)
		}
		return ctx.Err()
	}
	p.gen, err = kinds[kind](c.way(kvassigner.LeaseStore(p, "day", kvassigner.Config{})))
	return p, err
}

// Every kind of generator, with a layout of 8,192 IDs in a unit of a second.
var kinds = map[string]func(assigner.Assigner) (gentest.Generator, error){
	"defaultgen": func(a assigner.Assigner) (gentest.Generator, error) {
		return defaultgen.New(defaultgen.Config{Epoch: epoch, Assigner: a, Logger: slog.New(slog.DiscardHandler)})
	},
	"cached": func(a assigner.Assigner) (gentest.Generator, error) {
		return cached.New(cached.Config{Epoch: epoch, Assigner: a, Logger: slog.New(slog.DiscardHandler)})
	},
	"cached within 10 s": func(a assigner.Assigner) (gentest.Generator, error) {
		return cached.New(cached.Config{Epoch: epoch, Assigner: a, MaxAhead: 10 * time.Second, Logger: slog.New(slog.DiscardHandler)})
	},
}

// epoch is a day before the time of a bubble.
var epoch = time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)

// Every way to a lease.
var ways = map[string]func(leasestore.Store) assigner.Assigner{
	"Leased": func(s leasestore.Store) assigner.Assigner { return assigner.Leased(s, assigner.LeaseConfig{}) },
	"Auto":   func(s leasestore.Store) assigner.Assigner { return assigner.Auto(s, assigner.LeaseConfig{}) },
	"Fenced": func(s leasestore.Store) assigner.Assigner {
		return assigner.Fenced(s, assigner.Static(3), assigner.LeaseConfig{Owner: "pod-3"})
	},
}

// A cluster is a service with a store.
type cluster struct {
	*testing.T
	*memkv.Server
	kind string
	way  func(leasestore.Store) assigner.Assigner
	seen map[int64]bool
	last int64 // the highest delta of an ID
}

func each(t *testing.T, kind, way string, scene func(*cluster)) {
	t.Run(kind+" by "+way, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(300 * time.Millisecond)
			c := &cluster{T: t, Server: new(memkv.Server), kind: kind, way: ways[way], seen: make(map[int64]bool)}
			scene(c)
		})
	})
}

// start starts a process, which must succeed.
func (c *cluster) start() *pod {
	c.Helper()
	p, err := c.try(c.kind)
	testkit.Must(c.T, err)
	return p
}

// id draws an ID, which must come within a unit, and be new.
func (c *cluster) id(p *pod) bitsalloc.Fields {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), time.Second)
	defer cancel()
	id, err := p.gen.NextContext(ctx)
	if err != nil || c.seen[id] {
		c.Fatalf("no ID within a unit, or a second time: %d, %v", id, err)
	}
	c.seen[id] = true
	f, _ := p.gen.Parse(id)
	c.last = max(c.last, f.Delta)
	return f
}

// ahead returns how far the time of an ID is ahead of the clock.
func ahead(f bitsalloc.Fields) time.Duration { return time.Until(f.Time) }

func (c *cluster) stop(p *pod) {
	c.Helper()
	testkit.Must(c.T, p.gen.Close())
}

// kill ends a process whose Close does not reach the store.
func (c *cluster) kill(p *pod) {
	p.killed.Store(true)
	if err := p.gen.Close(); err == nil {
		c.Error("a killed process has released its worker ID")
	}
}

// Ten graceful restarts in a row: the first ID is at most a unit ahead of the clock and of the IDs
// that were issued.
func TestGracefulRestartLeavesNoTrace(t *testing.T) {
	for kind := range kinds {
		for way := range ways {
			each(t, kind, way, func(c *cluster) {
				for i := range 10 {
					p := c.start()
					issued := c.last
					f := c.id(p)
					if first := max(f.Delta-issued, 1); ahead(f) > time.Second && first > 1 {
						c.Errorf("start %d: first ID %v, %v ahead of the clock, %d units after the last one", i, f, ahead(f), first)
					}
					c.stop(p)
					time.Sleep(time.Duration(i) * 200 * time.Millisecond)
				}
			})
		}
	}
}

// A rolling update: one pod more, one less, three times over all pods. No pod is without IDs, with
// Close and without it.
func TestRollingUpdateLeavesNoPodWithoutIDs(t *testing.T) {
	for kind := range kinds {
		for _, way := range []string{"Leased", "Auto"} {
			for _, pods := range []int{3, 50} {
				for _, end := range []func(*cluster, *pod){(*cluster).stop, (*cluster).kill} {
					each(t, kind, way, func(c *cluster) {
						var running []*pod
						for range pods {
							running = append(running, c.start())
						}
						for range 3 * pods {
							running = append(running, c.start())
							for _, p := range running {
								if f := c.id(p); ahead(f) > 10*time.Second {
									c.Errorf("%v is %v ahead of the clock", f, ahead(f))
								}
							}
							end(c, running[0])
							running = running[1:]
							time.Sleep(2 * time.Second)
						}
						for _, p := range running {
							c.stop(p)
						}
					})
				}
			}
		}
	}
}

// A process that is killed again and again starts each time. Crashes do not add up: IDs are at most
// two windows and a step a crash ahead of the clock.
func TestCrashLoop(t *testing.T) {
	const crashes = 50
	for _, pause := range []time.Duration{3 * time.Second, 10 * time.Second, time.Minute, 5 * time.Minute} {
		for way := range ways {
			kind := "cached"
			if way != "Fenced" {
				kind = "defaultgen"
			}
			each(t, kind, way, func(c *cluster) {
				for i := range crashes {
					p := c.start()
					for range 3 {
						time.Sleep(pause / 4)
						if f := c.id(p); ahead(f) > 2*window+crashes*step {
							c.Fatalf("crash %d, %v apart: %v is %v ahead of the clock", i, pause, f, ahead(f))
						}
					}
					time.Sleep(pause / 4)
					c.kill(p)
				}
			})
		}
	}
}

// A process that is killed each second has no failed start for longer than the loop has lasted.
func TestCrashEachSecond(t *testing.T) {
	each(t, "cached", "Fenced", func(c *cluster) {
		began, failing := time.Now(), time.Time{}
		for range 400 {
			p, err := c.try("cached")
			switch {
			case err == nil:
				failing = time.Time{}
				c.id(p)
				c.kill(p)
			case !errors.Is(err, assigner.ErrWorkerAheadOfClock):
				c.Fatal(err)
			case failing.IsZero():
				failing = time.Now()
			case time.Since(failing) > failing.Sub(began):
				c.Fatalf("no start since %v, after a loop of %v: %v", time.Since(failing), failing.Sub(began), err)
			}
			time.Sleep(time.Second)
		}
	})
}

// Worker IDs that a burst has left ahead of the clock are free. A generator that keeps to the clock
// takes a new one instead.
func TestGeneratorThatKeepsToTheClockTakesAnotherWorkerID(t *testing.T) {
	for _, kind := range []string{"defaultgen", "cached within 10 s"} {
		each(t, kind, "Leased", func(c *cluster) {
			p, err := c.try("cached")
			testkit.Must(c.T, err)
			burst := p.gen
			var id int64
			for range 60 * 8192 {
				if id, err = burst.Next(); err != nil {
					c.Fatal(err)
				}
			}
			if f, _ := burst.Parse(id); ahead(f) < 50*time.Second {
				c.Fatalf("%v is not ahead", f)
			}
			testkit.Must(c.T, burst.Close())
			next := c.start()
			defer c.stop(next)
			if f := c.id(next); f.WorkerID != 1 || ahead(f) > time.Second {
				c.Errorf("%v, want another worker ID and the present", f)
			}
		})
	}
}

// outage takes the store down, draws IDs at a rate until there are no more, and returns how long
// that took.
func (c *cluster) outage(p *pod, rate int) time.Duration {
	defer c.Down()()
	began := time.Now()
	for {
		if _, err := p.gen.Next(); err != nil {
			return time.Since(began)
		}
		time.Sleep(time.Second / time.Duration(rate))
	}
}

// An outage is bridged for a window at an ordinary rate, 1,000 IDs a second, and from a start on
// for half of it; also by a holder that a crash loop has left two windows ahead of the clock, once
// it has renewed for a minute. Its first grant lasts for a unit of IDs, 8,192 here.
func TestOutageIsBridged(t *testing.T) {
	for name, scene := range map[string]struct {
		rate  int           // IDs a second; a unit has 8,192
		loop  int           // crashes before
		runs  time.Duration // before the outage
		least time.Duration
	}{
		"from a start on":               {1000, 0, 0, window / 2},
		"after a while":                 {1000, 0, 10 * time.Minute, window},
		"ahead of the clock, at first":  {1000, 200, 0, 6 * time.Second},
		"ahead of the clock, after 60s": {1000, 200, time.Minute, 40 * time.Second},
		"ahead, after a while":          {1000, 200, 3 * time.Minute, window},
		"ahead and fast, after a while": {20_000, 200, 3 * time.Minute, window},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && scene.rate > 1000 {
				t.Skip("takes seven million IDs")
			}
			each(t, "cached", "Fenced", func(c *cluster) {
				for range scene.loop {
					p := c.start()
					if f := c.id(p); ahead(f) > 2*window+20*time.Second {
						c.kill(p)
						break
					}
					time.Sleep(500 * time.Millisecond)
					c.kill(p)
				}
				p := c.start()
				defer c.stop(p)
				f := c.id(p)
				if scene.loop > 0 && ahead(f) < 2*window {
					c.Errorf("%v is %v ahead of the clock, want more for this test", f, ahead(f))
				}
				for began := time.Now(); time.Since(began) < scene.runs; time.Sleep(time.Second / time.Duration(scene.rate)) {
					if _, err := p.gen.Next(); err != nil {
						c.Fatal(err)
					}
				}
				if lasts := c.outage(p, scene.rate); lasts < scene.least {
					c.Errorf("an outage is bridged for %v, want %v at least", lasts, scene.least)
				}
			})
		})
	}
}
