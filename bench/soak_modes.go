package main

import (
	"context"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/defaultgen"
)

// A soakMode is one way of taking IDs.
type soakMode struct {
	name, summary string
	goroutines    int
	unordered     bool // the IDs of one goroutine need not increase
	open          func(worker int64) (*subject, error)
}

// soakModes returns all there are.
func soakModes() []soakMode {
	modes := streamModes()
	modes = append(modes, laneModes()...)
	modes = append(modes, smallRunModes()...)
	modes = append(modes, retireModes()...)
	return append(modes, clockModes()...)
}

func soakNames() (names []string) {
	for _, m := range soakModes() {
		names = append(names, m.name)
	}
	return names
}

// soakConfig has the defaults of the library, but for an epoch with which the layout lasts.
func soakConfig() cached.Config {
	return cached.Config{
		Layout:       bitsalloc.Default(),
		Epoch:        time.Now().Truncate(24 * time.Hour),
		DatacenterID: 3,
		AllowReuse:   true, // nobody keeps the IDs
	}
}

// opening returns what opens a generator whose Config has been changed, to be used in a certain way.
func opening(take useFunc, change func(cfg *cached.Config)) func(worker int64) (*subject, error) {
	return func(worker int64) (*subject, error) {
		cfg := soakConfig()
		if change != nil {
			change(&cfg)
		}
		cfg.Assigner = assigner.Static(worker)
		return newSubject(cfg, take)
	}
}

// streamModes use one ordered stream with the default settings.
func streamModes() []soakMode {
	all := runtime.GOMAXPROCS(0)
	return []soakMode{
		{name: "next-1", summary: "Next, 1 goroutine", goroutines: 1, open: opening(useNext, nil)},
		{name: "next", summary: "Next, all CPUs", goroutines: all, open: opening(useNext, nil)},
		{name: "fill", summary: "Fill of 256", goroutines: all, open: opening(useFill, nil)},
		{name: "reserve", summary: "Reserve of 1 to 20,000", goroutines: all, open: opening(useReserve, nil)},
		{name: "reject", summary: "Next, empty rejects, ring of 2", goroutines: all, open: opening(useNext, func(cfg *cached.Config) {
			cfg.OnEmpty, cfg.BoostPower, cfg.PaddingFactor = cached.Reject, 1, 1
		})},
	}
}

func perCPU(cfg *cached.Config) { cfg.Lanes = cached.LanePerCPU }

// laneModes take whole runs from the stream and count through them.
func laneModes() []soakMode {
	many := 4 * runtime.GOMAXPROCS(0)
	return []soakMode{
		{name: "lanes", summary: "Next, a lane per CPU", goroutines: many, unordered: true, open: opening(useNext, perCPU)},
		{name: "handles", summary: "Lane, one per goroutine", goroutines: many, open: opening(useLane, nil)},
		{name: "handles-short", summary: "Lane, closed after 4,000 IDs", goroutines: many, open: opening(useShortLanes, nil)},
		{name: "mixed", summary: "all of these on one generator", goroutines: many, unordered: true, open: opening(useAll(true), perCPU)},
	}
}

// smallRunModes have runs of a few IDs in a ring of two: takers run into each other and into the padding all the time.
func smallRunModes() (modes []soakMode) {
	many := 4 * runtime.GOMAXPROCS(0)
	small := func(bits uint8, lanes int) func(cfg *cached.Config) {
		return func(cfg *cached.Config) {
			cfg.Layout = bitsalloc.Layout{DeltaBits: 42 - bits, DatacenterBits: 5, WorkerBits: 16, SequenceBits: bits, Unit: time.Second}
			cfg.BoostPower, cfg.Lanes = 1, lanes
		}
	}
	return append(modes,
		soakMode{name: "runs-4", summary: "Next, runs of 4, ring of 2", goroutines: many, open: opening(useNext, small(2, 1))},
		soakMode{name: "runs-8", summary: "Next, runs of 8, ring of 2", goroutines: many, open: opening(useNext, small(3, 1))},
		soakMode{name: "runs-16", summary: "Next, runs of 16, ring of 2", goroutines: many, open: opening(useNext, small(4, 1))},
		soakMode{name: "runs-mixed", summary: "all ways, runs of 16, ring of 2", goroutines: many, unordered: true,
			open: opening(useAll(true), small(4, cached.LanePerCPU))},
	)
}

// retireModes use up less IDs than real time provides and let no ID grow older than two milliseconds: runs are retired
// while they are in use.
func retireModes() []soakMode {
	many := 4 * runtime.GOMAXPROCS(0)
	retire := func(bits uint8, lanes int) func(cfg *cached.Config) {
		return func(cfg *cached.Config) {
			cfg.Layout = bitsalloc.Layout{DeltaBits: 50 - bits, DatacenterBits: 3, WorkerBits: 10, SequenceBits: bits, Unit: time.Millisecond}
			cfg.MaxStaleness, cfg.BoostPower, cfg.Lanes = 2*time.Millisecond, 1, lanes
		}
	}
	return []soakMode{
		{name: "retire", summary: "Next, runs retired after 2 ms", goroutines: many, open: opening(useNext, retire(17, 1))},
		{name: "retire-mixed", summary: "all ways, runs retired after 2 ms", goroutines: many, unordered: true,
			open: opening(useAll(false), retire(20, cached.LanePerCPU))},
	}
}

// clockModes use the generator that follows the clock, with layouts that give more IDs a millisecond than the CPUs take.
func clockModes() []soakMode {
	all := runtime.GOMAXPROCS(0)
	open := func(bits uint8, use func(*defaultgen.Generator) consumer) func(worker int64) (*subject, error) {
		return func(worker int64) (*subject, error) {
			return newClockSubject(defaultgen.Config{
				Layout:       bitsalloc.Layout{DeltaBits: 50 - bits, DatacenterBits: 3, WorkerBits: 10, SequenceBits: bits, Unit: time.Millisecond},
				Epoch:        time.Now().Truncate(24 * time.Hour),
				DatacenterID: 3,
				Assigner:     assigner.Static(worker),
				AllowReuse:   true,
				OnClockBack:  defaultgen.GoOn, // a clock that is set meanwhile is no reason to stop
			}, use)
		}
	}
	return []soakMode{
		{name: "clock", summary: "defaultgen, Next", goroutines: all,
			open: open(14, func(g *defaultgen.Generator) consumer { return countNext(g.Next) })},
		{name: "clock-fill", summary: "defaultgen, Fill of 256", goroutines: all,
			open: open(18, func(g *defaultgen.Generator) consumer { return countFill(g.Fill) })},
	}
}

// A useFunc returns what takes IDs for the goroutine with the given number.
type useFunc func(g *cached.Generator, goroutine int) consumer

func useNext(g *cached.Generator, _ int) consumer    { return countNext(g.Next) }
func useFill(g *cached.Generator, _ int) consumer    { return countFill(g.Fill) }
func useReserve(g *cached.Generator, i int) consumer { return countRanges(g.Reserve, i) }

// useLane keeps a lane.
func useLane(g *cached.Generator, _ int) consumer {
	lane := g.Lane()
	t := countNext(lane.Next)
	t.end = lane.Close
	return t
}

// useShortLanes makes a new lane every few turns.
func useShortLanes(g *cached.Generator, _ int) consumer {
	ids := make([]int64, 0, 4000)
	return consumer{take: func(s *stream) (int, error) {
		lane := g.Lane()
		defer lane.Close()
		return countInto(ids, lane.Next, s)
	}}
}

// useAll takes in all ways there are, one after another. Lanes that are soon closed are left out where that would waste
// nearly all of their IDs.
func useAll(shortLanes bool) useFunc {
	return func(g *cached.Generator, i int) consumer {
		lane := useLane(g, i)
		ways := []consumer{lane, useNext(g, i), useFill(g, i), useReserve(g, i), countNext(func() (int64, error) {
			return g.NextContext(context.Background())
		})}
		if shortLanes {
			ways = append(ways, useShortLanes(g, i))
		}
		random := rand.New(rand.NewPCG(3, uint64(i)))
		return consumer{
			take: func(s *stream) (int, error) { return ways[random.IntN(len(ways))].take(s) },
			end:  lane.end,
		}
	}
}
