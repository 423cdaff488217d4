package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
)

// The sweeps there are, by what they vary. The last three are those of the README of Baidu's UidGenerator.
const (
	sweepRing       = "ring"       // boost power, padding factor, what happens when the ring is empty
	sweepGoroutines = "goroutines" // and lanes
	sweepSequence   = "sequence"   // sequence bits
	sweepDelta      = "delta"      // delta bits 25 to 32 with 20 worker bits
	sweepWorker     = "worker"     // worker bits 20 to 29 with 31 delta bits
	sweepConsumers  = "consumers"  // 1 to 8 goroutines, 31/23/9
)

// sweepNames returns all sweeps in the order in which they are printed.
func sweepNames() []string {
	return []string{sweepRing, sweepGoroutines, sweepSequence, sweepDelta, sweepWorker, sweepConsumers}
}

// A cell is one setting of a sweep.
type cell struct {
	sweep          string
	layout         bitsalloc.Layout
	boost, padding int
	onEmpty        string // pad or reject
	goroutines     int
	lanes          int
}

// plainCell has the defaults of the library, on all CPUs.
func plainCell(sweep string) cell {
	return cell{
		sweep:      sweep,
		layout:     bitsalloc.Default(),
		boost:      3,
		padding:    50,
		onEmpty:    "pad",
		goroutines: runtime.GOMAXPROCS(0),
		lanes:      1,
	}
}

// sweepCells returns the cells of the sweeps named; quick, a coarser net.
func sweepCells(names []string, quick bool) (cells []cell) {
	makers := map[string]func(quick bool) []cell{
		sweepRing:       ringCells,
		sweepGoroutines: goroutineCells,
		sweepSequence:   sequenceCells,
		sweepDelta:      deltaCells,
		sweepWorker:     workerCells,
		sweepConsumers:  consumerCells,
	}
	for _, name := range names {
		cells = append(cells, makers[name](quick)...)
	}
	return cells
}

// vary returns a plain cell for each value, changed by set; quick, for the values marked so alone.
func vary(sweep string, quick bool, values, few []int, set func(c *cell, value int)) (cells []cell) {
	if quick {
		values = few
	}
	for _, value := range values {
		c := plainCell(sweep)
		set(&c, value)
		cells = append(cells, c)
	}
	return cells
}

func ringCells(quick bool) (cells []cell) {
	boosts, paddings := []int{1, 2, 3, 4, 5, 6, 8}, []int{1, 10, 25, 50, 75, 90, 99}
	crowds := []int{1}
	if all := runtime.GOMAXPROCS(0); all > 1 {
		crowds = append(crowds, all)
	}
	if quick {
		boosts, paddings, crowds = []int{1, 3, 6}, []int{10, 50, 90}, crowds[len(crowds)-1:]
	}
	for _, onEmpty := range []string{"pad", "reject"} {
		for _, goroutines := range crowds {
			for _, boost := range boosts {
				for _, padding := range paddings {
					c := plainCell(sweepRing)
					c.onEmpty, c.goroutines, c.boost, c.padding = onEmpty, goroutines, boost, padding
					cells = append(cells, c)
				}
			}
		}
	}
	return cells
}

func goroutineCells(quick bool) (cells []cell) {
	for _, lanes := range []int{1, cached.LanePerCPU} {
		cells = append(cells, vary(sweepGoroutines, quick, []int{1, 2, 8, 64, 1024}, []int{1, 8, 64},
			func(c *cell, n int) { c.goroutines, c.lanes = n, lanes })...)
	}
	return cells
}

func sequenceCells(quick bool) []cell {
	return vary(sweepSequence, quick, []int{0, 2, 4, 6, 8, 10, 12, 13, 14, 16, 18, 20}, []int{4, 8, 13, 18},
		func(c *cell, n int) {
			c.layout = bitsalloc.Layout{DeltaBits: uint8(47 - n), WorkerBits: 16, SequenceBits: uint8(n), Unit: time.Second}
		})
}

func deltaCells(quick bool) []cell {
	return vary(sweepDelta, quick, []int{25, 26, 27, 28, 29, 30, 31, 32}, []int{25, 28, 32},
		func(c *cell, n int) {
			c.layout = bitsalloc.Layout{DeltaBits: uint8(n), WorkerBits: 20, SequenceBits: uint8(43 - n), Unit: time.Second}
		})
}

func workerCells(quick bool) []cell {
	return vary(sweepWorker, quick, []int{20, 21, 22, 23, 24, 25, 26, 27, 28, 29}, []int{20, 25, 29},
		func(c *cell, n int) {
			c.layout = bitsalloc.Layout{DeltaBits: 31, WorkerBits: uint8(n), SequenceBits: uint8(32 - n), Unit: time.Second}
		})
}

func consumerCells(quick bool) []cell {
	return vary(sweepConsumers, quick, []int{1, 2, 3, 4, 5, 6, 7, 8}, []int{1, 2, 8},
		func(c *cell, n int) {
			c.layout = bitsalloc.Layout{DeltaBits: 31, WorkerBits: 23, SequenceBits: 9, Unit: time.Second}
			c.goroutines = n
		})
}

// String names the cell in an error text.
func (c cell) String() string {
	return fmt.Sprintf("sweep %s: layout %v, boost power %d, padding factor %d, on empty %s, %s, lanes %d",
		c.sweep, c.layout, c.boost, c.padding, c.onEmpty, counted(int64(c.goroutines), "goroutine"), c.lanes)
}

// config is the Config of the cell's generator. Each generator has a worker ID of its own: one that came back would go
// on where the one before it stopped, ahead of the clock. The epoch is today, so that no layout has ended.
func (c cell) config(worker int64) cached.Config {
	cfg := cached.Config{
		Layout:        c.layout,
		Epoch:         time.Now().Truncate(24 * time.Hour),
		Assigner:      assigner.Static(worker),
		AllowReuse:    true, // nobody keeps the IDs
		BoostPower:    c.boost,
		PaddingFactor: c.padding,
		Lanes:         c.lanes,
	}
	if c.onEmpty == "reject" {
		cfg.OnEmpty = cached.Reject
	}
	return cfg
}
