package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/cached"
)

// rounds is how many times the load and the baselines take turns: on a noisy machine only figures of the
// same moment can be compared.
const rounds = 5

// work is what one goroutine does until stop is set.
type work func(ctx context.Context, stop *atomic.Bool) (tally, error)

// A lap is one race of one kind of work.
type lap struct {
	ids, last int64
	wall      time.Duration
}

// nsPerID is wall time over all goroutines together.
func (l lap) nsPerID() float64 { return float64(l.wall.Nanoseconds()) / float64(l.ids) }

// errNoID is for phases that were too short, or disturbed, to get a single ID.
var errNoID = errors.New("no ID")

func runLap(ctx context.Context, goroutines int, d time.Duration, w work) (lap, error) {
	tallies := make([]tally, goroutines)
	wall, err := race(ctx, goroutines, d, func(ctx context.Context, i int, stop *atomic.Bool) (err error) {
		tallies[i], err = w(ctx, stop)
		return err
	})
	l := lap{wall: wall}
	for _, t := range tallies {
		l.ids += t.ids
		l.last = max(l.last, t.last)
	}
	if err == nil && l.ids == 0 {
		err = fmt.Errorf("%w within %v; choose a longer -duration or a higher -rate", errNoID, d)
	}
	return l, err
}

// A measuredRun is the outcome of the phase that measures throughput.
type measuredRun struct {
	lap                                      // all laps of the load together
	rejectedTakes, inlinePads, paddingPasses int64
	deltas                                   int64  // of ID time used up
	mallocs                                  uint64 // by the whole process
	after                                    cached.Stats
	columns                                  []*column // none when paced
}

// A column compares takes with the baselines, by wall ns per ID in each round.
type column struct {
	goroutines           int
	adds, mutexes, takes []float64
}

// ratios are what a take costs in atomic adds, round by round.
func (c *column) ratios() []float64 {
	list := make([]float64, len(c.takes))
	for i, take := range c.takes {
		list[i] = take / c.adds[i]
	}
	return list
}

func (c *column) ratio() float64 { return median(c.ratios()) }

func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}

// A turn is what a round consists of.
type turn struct {
	goroutines int
	share      time.Duration
	start      func() work
	done       func(lap)
}

// turns returns the turns of a round for a load that is measured for d in all. The baselines, and the load
// on one goroutine, get a sixth of its time each.
func (m *measuredRun) turns(l load, d time.Duration) (list []turn) {
	collect := func(goroutines int, dst *[]float64, start func() work) {
		done := func(l lap) { *dst = append(*dst, l.nsPerID()) }
		list = append(list, turn{goroutines, d / rounds / 6, start, done})
	}
	all := &column{goroutines: l.goroutines}
	if l.rate == 0 {
		if l.goroutines > 1 {
			one, alone := &column{goroutines: 1}, l
			alone.goroutines = 1
			collect(1, &one.adds, atomicAdds)
			collect(1, &one.mutexes, mutexCounts)
			collect(1, &one.takes, alone.work)
			m.columns = append(m.columns, one)
		}
		collect(l.goroutines, &all.adds, atomicAdds)
		collect(l.goroutines, &all.mutexes, mutexCounts)
		m.columns = append(m.columns, all)
	}
	var before cached.Stats
	var mallocs uint64
	return append(list, turn{l.goroutines, d / rounds,
		func() work {
			before, mallocs = l.gen.Stats(), mallocsSoFar()
			return l.work()
		},
		func(lap lap) {
			m.mallocs += mallocsSoFar() - mallocs
			all.takes = append(all.takes, lap.nsPerID())
			m.add(lap, before, l.gen.Stats())
		}})
}

// work is the load as work of a lap.
func (l load) work() work {
	p := l.pace()
	return func(ctx context.Context, stop *atomic.Bool) (tally, error) { return l.take(ctx, stop, p) }
}

// add adds a lap of the load and what the generator did in it.
func (m *measuredRun) add(l lap, before, after cached.Stats) {
	m.ids += l.ids
	m.wall += l.wall
	m.last = max(m.last, l.last)
	m.rejectedTakes += after.RejectedTakes - before.RejectedTakes
	m.inlinePads += after.InlinePads - before.InlinePads
	m.paddingPasses += after.PaddingPasses - before.PaddingPasses
	m.deltas += after.LastDelta - before.LastDelta
	m.after = after
}

// mallocsSoFar counts the allocations of the process.
func mallocsSoFar() uint64 {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.Mallocs
}

// measureTime is how long measure takes.
func measureTime(l load, d time.Duration) (sum time.Duration) {
	for _, t := range new(measuredRun).turns(l, d) {
		sum += rounds * t.share
	}
	return sum
}

// measure runs the load for d in all, and the baselines in between unless the load is paced.
func measure(ctx context.Context, l load, d time.Duration) (measuredRun, error) {
	var m measuredRun
	turns := m.turns(l, d)
	for range rounds {
		for _, t := range turns {
			lap, err := runLap(ctx, t.goroutines, t.share, t.start())
			if err != nil {
				return m, err
			}
			t.done(lap)
		}
	}
	return m, nil
}
