package main

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bench/internal/load"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
)

func TestSweepCoversWhatItIsFor(t *testing.T) {
	cells := sweepCells(sweepNames(), false)
	has := func(fits func(c cell) bool) bool { return slices.ContainsFunc(cells, fits) }
	for n := uint8(25); n <= 32; n++ {
		if want := (bitsalloc.Layout{DeltaBits: n, WorkerBits: 20, SequenceBits: 43 - n, Unit: time.Second}); !has(func(c cell) bool { return c.sweep == sweepDelta && c.layout == want }) {
			t.Errorf("no cell with layout %v", want)
		}
	}
	for n := uint8(20); n <= 29; n++ {
		if want := (bitsalloc.Layout{DeltaBits: 31, WorkerBits: n, SequenceBits: 32 - n, Unit: time.Second}); !has(func(c cell) bool { return c.sweep == sweepWorker && c.layout == want }) {
			t.Errorf("no cell with layout %v", want)
		}
	}
	for n := 1; n <= 8; n++ {
		if !has(func(c cell) bool {
			return c.sweep == sweepConsumers && c.goroutines == n && c.layout.String() == "31/0/23/9@1s"
		}) {
			t.Errorf("no cell with %d consumers", n)
		}
	}
	for _, onEmpty := range []string{"pad", "reject"} {
		if !has(func(c cell) bool {
			return c.sweep == sweepRing && c.boost == 3 && c.padding == 50 && c.onEmpty == onEmpty && c.goroutines == runtime.GOMAXPROCS(0)
		}) {
			t.Errorf("no cell with the defaults, on empty %s", onEmpty)
		}
	}
	for _, quick := range sweepCells(sweepNames(), true) {
		if !slices.Contains(cells, quick) {
			t.Errorf("quick measures what a full sweep does not: %v", quick)
		}
	}
}

func TestEveryCellMakesAGenerator(t *testing.T) {
	for i, c := range sweepCells(sweepNames(), false) {
		g, err := cached.New(c.config(int64(20_000 + i)))
		if err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		if err := warmUp(g); err != nil {
			t.Errorf("%v: %v", c, err)
		}
		if s := g.Stats(); s.Capacity != 1<<c.boost<<c.layout.SequenceBits || s.Issued != int64(s.Capacity) {
			t.Errorf("%v: capacity %d, %d issued in the warm-up", c, s.Capacity, s.Issued)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestSweepMeasuresEveryCellInEveryRound(t *testing.T) {
	cells := slices.DeleteFunc(sweepCells([]string{sweepRing, sweepGoroutines}, true), func(c cell) bool {
		return c.padding == 90 || c.boost == 3 && c.sweep == sweepRing
	})
	s := sweeper{cells: cells, rounds: 2, share: 4 * time.Millisecond, worker: 30_000}
	rows, err := s.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(s.cells) || s.done.Load() != int64(2*len(s.cells)) || s.worker != 30_000+s.done.Load() {
		t.Fatalf("%d rows of %d cells, %d rounds, %d generators", len(rows), len(s.cells), s.done.Load(), s.worker-30_000)
	}
	for i, row := range rows {
		c := s.cells[i]
		if row.Boost != c.boost || row.Padding != c.padding || row.OnEmpty != c.onEmpty || row.Sweep != c.sweep {
			t.Errorf("row %+v does not belong to %v", row, c)
		}
		if row.IDs < 1 || row.NsPerID <= 0 || row.RatioLow <= 0 || row.RatioLow > row.Ratio || row.Ratio > row.RatioHigh || row.IDTimeRate < 0 {
			t.Errorf("row %+v", row)
		}
		if c.onEmpty == "reject" && row.InlinePads != 0 || c.onEmpty == "pad" && row.Rejected != 0 {
			t.Errorf("on empty %s: %d inline pads, %d rejected", c.onEmpty, row.InlinePads, row.Rejected)
		}
	}
}

func TestSweepNamesTheSettingThatFails(t *testing.T) {
	c := plainCell(sweepRing)
	c.boost = 99
	s := sweeper{cells: []cell{c}, rounds: 1, share: time.Millisecond}
	if _, err := s.run(t.Context()); !errors.Is(err, cached.ErrInvalidConfig) || !strings.Contains(err.Error(), "sweep ring: layout 28/5/17/13@1s, boost power 99") {
		t.Errorf("error %v", err)
	}
}

func TestTrialAddsUpItsRounds(t *testing.T) {
	c := plainCell(sweepRing)
	c.goroutines = 2
	trial := &trial{cell: c, calls: load.NewHistogram()}
	for _, ns := range []int64{30, 30, 120} {
		if err := trial.calls.RecordValue(ns); err != nil {
			t.Fatal(err)
		}
	}
	round := func(addNs, takeNs int64, rejected int64, ahead time.Duration) {
		lapOf := func(ns int64) load.Lap { return load.Lap{IDs: []int64{1000}, Wall: time.Duration(1000 * ns)} }
		trial.add(lapOf(addNs), lapOf(takeNs),
			cached.Stats{RejectedTakes: 5, InlinePads: 7, LastDelta: 100},
			cached.Stats{RejectedTakes: 5 + rejected, InlinePads: 8, LastDelta: 103, Ahead: ahead})
	}
	round(10, 15, 1, 8*time.Second)
	round(20, 22, 2, 9*time.Second)
	round(10, 30, 3, -time.Second)
	want := sweepRow{Sweep: "ring", Boost: 3, Padding: 50, OnEmpty: "pad", Goroutines: 2, Lanes: 1, SequenceBits: 13, Layout: "28/5/17/13@1s",
		IDs: 3000, NsPerID: 22, AtomicAddNs: 10, Ratio: 1.5, RatioLow: 1.1, RatioHigh: 3, Rejected: 6, InlinePads: 3, P9999Ns: 120,
		AheadSeconds: 8, IDTimeRate: (9 * time.Second).Seconds() / (67 * time.Microsecond).Seconds()}
	if got := trial.row(); got != want {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
}

func TestVerdictTellsADifferenceFromNoise(t *testing.T) {
	row := func(boost int, low, ratio, high float64) sweepRow {
		return sweepRow{Boost: boost, Padding: 10 * boost, RatioLow: low, Ratio: ratio, RatioHigh: high}
	}
	for _, tt := range []struct {
		rows []sweepRow
		want string
	}{
		{[]sweepRow{row(1, 1.2, 1.3, 1.6), row(2, 1.1, 1.4, 1.5), row(3, 1.3, 1.35, 1.4)},
			"1.30 × to 1.40 × over 3 settings; one setting alone differs by 0.40 × from round to round: no difference beyond that"},
		{[]sweepRow{row(1, 1.2, 1.3, 1.4), row(2, 2.9, 3, 3.1), row(3, 1.3, 1.35, 1.4)},
			"1.30 × to 3.00 × over 3 settings; one setting alone differs by 0.20 × from round to round: slowest at boost power 2, padding factor 20"},
	} {
		if got := (plane{rows: tt.rows}).verdict(); got != tt.want {
			t.Errorf("\n got %s\nwant %s", got, tt.want)
		}
	}
}

// madeUpSweep has rows of every sweep, in figures that were never measured.
func madeUpSweep() sweepReport {
	r := sweepReport{Facts: madeUp("bench sweep"), Rounds: 5, CellSeconds: 1}
	for i, c := range sweepCells(sweepNames(), true) {
		if c.sweep != sweepGoroutines && c.sweep != sweepConsumers {
			c.goroutines = 2 // on all machines
		}
		x := float64(i)
		trial := &trial{cell: c, calls: load.NewHistogram()}
		trial.column = column{adds: []float64{8, 8, 8}, takes: []float64{8 + x, 9 + x, 10 + x}}
		trial.ids, trial.wall, trial.idTime = 1<<30, 5*time.Second, time.Duration(i)*time.Hour
		trial.rejected, trial.inlinePads, trial.aheads = int64(i)*1000, int64(i)*100, []float64{100 * x}
		if c.onEmpty == "pad" {
			trial.rejected = 0
		}
		_ = trial.calls.RecordValue(int64(100 * (i + 1)))
		r.Rows = append(r.Rows, trial.row())
	}
	return r
}

func TestSweepIsPrintedAsInTheGoldenFiles(t *testing.T) {
	r := madeUpSweep()
	sameAsGolden(t, "sweep.txt", shown(t, false, r))
	sameAsGolden(t, "sweep.csv", asCSV(t, r.Rows))
}
