package main

import (
	"context"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bench/internal/count"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/defaultgen"
)

// A soakMode is a way to take IDs.
type soakMode struct {
	name, summary string
	goroutines    int
	unordered     bool // the IDs of one goroutine need not increase
	open          func(worker int64) (subject, error)
}

// soakModes returns all modes.
func soakModes() []soakMode {
	all := runtime.GOMAXPROCS(0)
	many := 4 * all
	return []soakMode{
		// One ordered stream.
		{"next-1", "Next, 1 goroutine", 1, false, opening(useNext, nil)},
		{"next", "Next, all CPUs", all, false, opening(useNext, nil)},
		{"fill", "Fill of 256", all, false, opening(useFill, nil)},
		{"reserve", "Reserve of 1 to 20,000", all, false, opening(useReserve, nil)},
		{"reject", "Next, empty rejects, ring of 2", all, false, opening(useNext, func(cfg *cached.Config) {
			cfg.OnEmpty, cfg.BoostPower, cfg.PaddingFactor = cached.Reject, 1, 1
		})},

		// Lanes take whole blocks from the stream.
		{"lanes", "Next, a lane per CPU", many, true, opening(useNext, func(cfg *cached.Config) { cfg.Lanes = cached.LanePerCPU })},
		{"handles", "Lane, one per goroutine", many, false, opening(useLane, nil)},
		{"handles-short", "Lane, closed after 4,000 IDs", many, false, opening(useShortLanes, nil)},
		{"mixed", "all of these on one generator", many, true, opening(useAll(true), func(cfg *cached.Config) { cfg.Lanes = cached.LanePerCPU })},

		// Blocks of a few IDs in a ring of two: takers collide with each other and with the padding
		// all the time.
		{"blocks-4", "Next, blocks of 4, ring of 2", many, false, opening(useNext, smallBlocks(2, 1))},
		{"blocks-8", "Next, blocks of 8, ring of 2", many, false, opening(useNext, smallBlocks(3, 1))},
		{"blocks-16", "Next, blocks of 16, ring of 2", many, false, opening(useNext, smallBlocks(4, 1))},
		{"blocks-mixed", "all ways, blocks of 16, ring of 2", many, true, opening(useAll(true), smallBlocks(4, cached.LanePerCPU))},

		// Fewer IDs than real time provides, none older than 2 ms: blocks in use are retired.
		{"retire", "Next, blocks retired after 2 ms", many, false, opening(useNext, retire(17, 1))},
		{"retire-mixed", "all ways, blocks retired after 2 ms", many, true, opening(useAll(false), retire(20, cached.LanePerCPU))},

		// The generator that follows the clock, with more IDs per unit than the CPUs take.
		{"clock", "defaultgen, Next", all, false, openClock(14, func(g *defaultgen.Generator) count.Consumer { return count.Next(g.Next) })},
		{"clock-fill", "defaultgen, Fill of 256", all, false, openClock(18, func(g *defaultgen.Generator) count.Consumer { return count.Fill(g.Fill, 256) })},
	}
}

func soakNames() (names []string) {
	for _, m := range soakModes() {
		names = append(names, m.name)
	}
	return names
}

// opening returns a func that opens a generator with the library's defaults, changed by change. The
// epoch is today, so that no layout has ended.
func opening(use useFunc, change func(cfg *cached.Config)) func(worker int64) (subject, error) {
	return func(worker int64) (subject, error) {
		cfg := cached.Config{
			Layout:       bitsalloc.Default(),
			Epoch:        time.Now().Truncate(24 * time.Hour),
			DatacenterID: 3,
			Assigner:     assigner.Static(worker),
			AllowReuse:   true, // the IDs are not kept
		}
		if change != nil {
			change(&cfg)
		}
		return newSubject(cfg, use)
	}
}

func smallBlocks(bits uint8, lanes int) func(cfg *cached.Config) {
	return func(cfg *cached.Config) {
		cfg.Layout = bitsalloc.Layout{DeltaBits: 42 - bits, DatacenterBits: 5, WorkerBits: 16, SequenceBits: bits, Unit: time.Second}
		cfg.BoostPower, cfg.Lanes = 1, lanes
	}
}

func retire(bits uint8, lanes int) func(cfg *cached.Config) {
	return func(cfg *cached.Config) {
		cfg.Layout = millis(bits)
		cfg.MaxStaleness, cfg.BoostPower, cfg.Lanes = 2*time.Millisecond, 1, lanes
	}
}

func millis(bits uint8) bitsalloc.Layout {
	return bitsalloc.Layout{DeltaBits: 50 - bits, DatacenterBits: 3, WorkerBits: 10, SequenceBits: bits, Unit: time.Millisecond}
}

func openClock(bits uint8, use func(*defaultgen.Generator) count.Consumer) func(worker int64) (subject, error) {
	return func(worker int64) (subject, error) {
		return newClockSubject(defaultgen.Config{
			Layout:       millis(bits),
			Epoch:        time.Now().Truncate(24 * time.Hour),
			DatacenterID: 3,
			Assigner:     assigner.Static(worker),
			AllowReuse:   true,
			OnClockBack:  defaultgen.GoOn, // setting the clock does not end the soak
		}, use)
	}
}

// A useFunc returns the consumer of a goroutine.
type useFunc func(g *cached.Generator, goroutine int) count.Consumer

func useNext(g *cached.Generator, _ int) count.Consumer    { return count.Next(g.Next) }
func useFill(g *cached.Generator, _ int) count.Consumer    { return count.Fill(g.Fill, 256) }
func useReserve(g *cached.Generator, i int) count.Consumer { return count.Reserve(g.Reserve, i) }

// useLane keeps a lane.
func useLane(g *cached.Generator, _ int) count.Consumer {
	lane := g.Lane()
	c := count.Next(lane.Next)
	c.End = lane.Close
	return c
}

// useShortLanes makes a new lane for each turn.
func useShortLanes(g *cached.Generator, _ int) count.Consumer {
	var lane *cached.Lane
	c := count.Next(func() (int64, error) { return lane.Next() })
	return count.Consumer{Take: func(s *count.Stream, _ int) (int, error) {
		lane = g.Lane()
		defer lane.Close()
		return c.Take(s, 4000)
	}}
}

// useAll takes IDs in all ways in random order. It leaves out short lanes if they would waste
// nearly all of their IDs.
func useAll(shortLanes bool) useFunc {
	return func(g *cached.Generator, i int) count.Consumer {
		lane := useLane(g, i)
		ways := []count.Consumer{lane, useNext(g, i), useFill(g, i), useReserve(g, i), count.Next(func() (int64, error) {
			return g.NextContext(context.Background())
		})}
		if shortLanes {
			ways = append(ways, useShortLanes(g, i))
		}
		random := rand.New(rand.NewPCG(3, uint64(i)))
		return count.Consumer{
			Take: func(s *count.Stream, n int) (int, error) { return ways[random.IntN(len(ways))].Take(s, n) },
			End:  lane.End,
		}
	}
}
