package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// A sprint is one lap of one contestant.
type sprint struct {
	ids       []int64 // by goroutine
	wall, cpu time.Duration
}

func (s sprint) total() (n int64) {
	for _, ids := range s.ids {
		n += ids
	}
	return n
}

func (s sprint) wallNs() float64 { return float64(s.wall.Nanoseconds()) / float64(s.total()) }
func (s sprint) cpuNs() float64  { return float64(s.cpu.Nanoseconds()) / float64(s.total()) }

// fairness is the smallest share of a goroutine over the largest.
func (s sprint) fairness() float64 { return float64(slices.Min(s.ids)) / float64(slices.Max(s.ids)) }

// runSprint runs a contestant on goroutines for d.
func runSprint(ctx context.Context, c contestant, goroutines int, d time.Duration, worker int64) (s sprint, err error) {
	src, err := c.open(ctx, worker)
	if err != nil {
		return s, fmt.Errorf("%s: %w", c.name, err)
	}
	crowded := goroutines > runtime.GOMAXPROCS(0)
	s.ids = make([]int64, goroutines)
	lasts := make([]int64, goroutines) // keeps what was taken
	before := cpuTime()
	s.wall, err = race(ctx, goroutines, d, func(_ context.Context, i int, stop *atomic.Bool) (err error) {
		take, leave := src.join()
		defer leave()
		ids, last := int64(0), int64(0)
		y := newYielder()
		for more := true; more; more = !stop.Load() {
			if last, err = take(stride); err != nil {
				return err
			}
			ids += stride
			if crowded {
				y.step()
			}
		}
		s.ids[i], lasts[i] = ids, last
		return nil
	})
	s.cpu = cpuTime() - before
	if closing := src.close(); err == nil {
		err = closing
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w", c.name, err)
	}
	return s, nil
}

// An event is a contestant on a number of goroutines, with the sprint of each round.
type event struct {
	contestant contestant
	goroutines int
	sprints    []sprint
}

// lap is longer for a crowd, so that each goroutine has its turn several times.
func (e *event) lap(d time.Duration) time.Duration {
	if e.goroutines > 100 {
		return 4 * d
	}
	return d
}

// events returns what a comparison consists of: every contestant on 1 goroutine and on cpus, some also on many.
func events(list []contestant, cpus int, many []int) (all []*event) {
	for _, c := range list {
		counts := []int{1, cpus}
		if c.crowd {
			counts = append(counts, many...)
		}
		slices.Sort(counts)
		for _, n := range slices.Compact(counts) {
			all = append(all, &event{contestant: c, goroutines: n})
		}
	}
	return all
}

// hold runs the events in rounds. In each round every event has one lap, of length d but for crowds, in random order: what disturbs the
// machine then hits all alike.
func hold(ctx context.Context, all []*event, rounds int, d time.Duration, tick func()) error {
	worker := int64(0)
	for range rounds {
		for _, i := range rand.Perm(len(all)) {
			e := all[i]
			if e.contestant.open == nil {
				continue
			}
			worker++
			s, err := runSprint(ctx, e.contestant, e.goroutines, e.lap(d), worker)
			if err != nil {
				return err
			}
			e.sprints = append(e.sprints, s)
			tick()
		}
	}
	return nil
}

// A yielder lets other goroutines run now and then, when they outnumber the CPUs: the scheduler would let each go on
// for some 10 ms, and a lap would show its fairness and not the contestant's. It does so every slice or so, which
// hides the cost, and reads the clock no more often.
type yielder struct {
	every, left int // steps
	began       time.Time
}

const slice = 20 * time.Microsecond

func newYielder() *yielder { return &yielder{1, 1, time.Now()} }

func (y *yielder) step() {
	if y.left--; y.left > 0 {
		return
	}
	y.every = steps(y.every, time.Since(y.began))
	y.left = y.every
	runtime.Gosched()
	y.began = time.Now()
}

// steps returns how many steps take a slice, when so many have taken so long.
func steps(every int, took time.Duration) int {
	return min(max(1, int(float64(every)*float64(slice)/float64(max(1, took)))), 1<<20)
}
