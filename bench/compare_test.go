package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/bench/internal/contestants"
	"github.com/uidring/uidring/bench/internal/load"
	"github.com/uidring/uidring/bench/internal/report"
)

func TestChartsShowContestantsThatExist(t *testing.T) {
	all := contestants.All()
	for _, name := range lineNames() {
		if !slices.ContainsFunc(all, func(c contestants.Contestant) bool { return c.Name == name }) {
			t.Errorf("no contestant %s", name)
		}
	}
	for _, c := range all {
		if !slices.Contains(kinds(), c.Kind) {
			t.Errorf("%s: no table for kind %q", c.Name, c.Kind)
		}
	}
}

func TestEventsAreEachContestantOnEachNumberOfGoroutines(t *testing.T) {
	list := []contestants.Contestant{{Name: "a"}, {Name: "b", Crowd: true}}
	for _, tt := range []struct {
		cpus int
		want string
	}{
		{4, "a1 a4 b1 b4 b8 b64"},
		{8, "a1 a8 b1 b8 b64"},
		{1, "a1 b1 b8 b64"},
	} {
		var got []string
		for _, e := range events(list, tt.cpus, []int{64, 1, 8}) {
			got = append(got, e.contestant.Name+report.Comma(e.goroutines))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%d CPUs: %q, want %s", tt.cpus, got, tt.want)
		}
	}
}

// counting is a contestant that counts its takers and its closings.
func counting(name string, joined, closed *atomic.Int64, take error) contestants.Contestant {
	return contestants.Contestant{Name: name, Open: func(context.Context, int64) (load.Source, error) {
		return load.Source{
			Join: func() (load.Taker, func()) {
				joined.Add(1)
				return func(n int) (int64, error) { return int64(n), take }, func() {}
			},
			Close: func() error {
				closed.Add(1)
				return nil
			},
		}, nil
	}}
}

func TestEveryEventHasALapInEveryRound(t *testing.T) {
	var joined, closed atomic.Int64
	ticks := 0
	all := []*event{
		{contestant: counting("a", &joined, &closed, nil), goroutines: 1},
		{contestant: contestants.Contestant{Name: "capped", PerSecond: 1}, goroutines: 1},
		{contestant: counting("b", &joined, &closed, nil), goroutines: 1},
	}
	if err := hold(t.Context(), all, 3, time.Millisecond, func() { ticks++ }); err != nil {
		t.Fatal(err)
	}
	if joined.Load() != 6 || closed.Load() != 6 || ticks != 6 {
		t.Errorf("joined %d, closed %d, told %d, want 6", joined.Load(), closed.Load(), ticks)
	}
	for i, want := range []int{3, 0, 3} {
		if got := all[i].laps; len(got) != want {
			t.Errorf("%s: %d laps, want %d", all[i].contestant.Name, len(got), want)
		}
		for _, s := range all[i].laps {
			if s.Total() < load.Stride || s.Total()%load.Stride != 0 || s.Wall <= 0 {
				t.Errorf("%s: %d IDs in %v", all[i].contestant.Name, s.Total(), s.Wall)
			}
		}
	}
}

func TestAFailedLapNamesItsContestantAndIsClosed(t *testing.T) {
	refused := errors.New("refused")
	var joined, closed atomic.Int64
	err := hold(t.Context(), []*event{{contestant: counting("a", &joined, &closed, refused), goroutines: 2}}, 1, time.Hour, func() {})
	if !errors.Is(err, refused) || !strings.HasPrefix(err.Error(), "a: ") || closed.Load() != 1 {
		t.Errorf("%v, closed %d times", err, closed.Load())
	}
	c := contestants.Contestant{Name: "b", Open: func(context.Context, int64) (load.Source, error) { return load.Source{}, refused }}
	if err := hold(t.Context(), []*event{{contestant: c, goroutines: 1}}, 1, time.Hour, func() {}); !errors.Is(err, refused) || !strings.HasPrefix(err.Error(), "b: ") {
		t.Errorf("%v", err)
	}
}

// A machine that others use as well may not give a lap all its CPUs; the figures then mean
// something else.
func TestCPUsThatWereNotThereAreMentioned(t *testing.T) {
	c := madeUpComparison() // 2.0 CPUs
	if got := c.starved(); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
	i := slices.IndexFunc(c.Rows, func(r comparedRow) bool { return r.Name == contestants.AtomicAddName && r.Goroutines == 2 })
	c.Rows[i].CPUNsPerID = 1.05 * c.Rows[i].NsPerID
	want := "Other programs used the machine: the atomic add had 1.0 of 1 CPU, 1.1 of 2 CPUs. Wall times are too long then; CPU times tell more."
	if got := c.starved(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	c.Rows[i].CPUNsPerID = 0 // unknown
	if got := c.starved(); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}

// lapOf is a lap with made-up figures: ns of wall time and CPU time per ID.
func lapOf(wallNs, cpuNs int, ids ...int64) load.Lap {
	s := load.Lap{IDs: ids}
	s.Wall, s.CPU = time.Duration(int64(wallNs)*s.Total()), time.Duration(int64(cpuNs)*s.Total())
	return s
}

// madeUpEvents are a whole comparison with made-up figures, on 2 CPUs.
func madeUpEvents() []*event {
	own := contestants.Contestant{Name: "Next", Kind: contestants.Own, Bits: 63, Order: "increasing", Worker: "worker ID", Ahead: "unbounded", Crowd: true}
	capped := contestants.Contestant{Name: "slow|flake", Kind: contestants.Others, Bits: 63, Order: "increasing", Worker: "yours", Ahead: "none", PerSecond: 25_600, Note: "waits"}
	untimed := contestants.Contestant{Name: "slower", Kind: contestants.Others, Bits: 64, Order: "none", Worker: "random bits", PerSecond: 8_192}
	add := contestants.Contestant{Name: contestants.AtomicAddName, Kind: contestants.Baselines, Order: "increasing", Crowd: true}
	return []*event{
		{own, 1, []load.Lap{lapOf(12, 13, 100), lapOf(6, 7, 100), lapOf(9, 9, 100)}},
		{own, 2, []load.Lap{lapOf(20, 40, 100, 50), lapOf(24, 44, 100, 100), lapOf(22, 42, 80, 100)}},
		{contestants.Contestant{Name: "Next, a lane per CPU", Kind: contestants.Own, Bits: 63}, 1, []load.Lap{lapOf(4, 4, 1), lapOf(4, 4, 1), lapOf(4, 4, 1)}},
		{contestants.Contestant{Name: "Lane.Next", Kind: contestants.Own, Bits: 63}, 1, []load.Lap{lapOf(1, 1, 1), lapOf(1, 1, 1), lapOf(1, 1, 1)}},
		{contestants.Contestant{Name: "mutex and counter", Kind: contestants.Baselines}, 1, []load.Lap{lapOf(14, 14, 1), lapOf(14, 14, 1), lapOf(14, 14, 1)}},
		{own, 8, []load.Lap{lapOf(30, 60, 1, 2, 3, 4, 5, 6, 7, 8), lapOf(31, 60, 1, 2, 3, 4, 5, 6, 7, 8), lapOf(32, 60, 4, 4, 4, 4, 4, 4, 4, 5)}},
		{capped, 1, []load.Lap{lapOf(39_000, 300, 100), lapOf(39_100, 310, 100), lapOf(39_200, 320, 100)}},
		{capped, 2, []load.Lap{lapOf(39_000, 300, 50, 50), lapOf(39_100, 310, 50, 50), lapOf(39_200, 320, 50, 50)}},
		{untimed, 1, nil},
		{untimed, 2, nil},
		{add, 1, []load.Lap{lapOf(8, 8, 100), lapOf(5, 5, 100), lapOf(5, 5, 100)}},
		{add, 2, []load.Lap{lapOf(16, 32, 50, 50), lapOf(16, 32, 50, 50), lapOf(11, 22, 50, 50)}},
		{add, 8, []load.Lap{lapOf(15, 30, 9, 10), lapOf(15, 30, 9, 10), lapOf(16, 30, 9, 10)}},
	}
}

func madeUpComparison() comparison {
	return comparison{Facts: madeUp("bench compare"), Rounds: 3, LapMs: 20, Rows: compared(madeUpEvents())}
}

func TestFiguresAreMediansAndRatiosOfTheSameRound(t *testing.T) {
	c := madeUpComparison()
	tests := []struct {
		name       string
		goroutines int
		want       comparedRow
	}{
		// Rounds: 12/8, 6/5, 9/5 of an add; CPU 13/8, 7/5, 9/5.
		{"Next", 1, comparedRow{NsPerID: 9, CPUNsPerID: 9, RatioToAdd: 1.5, CPURatio: 1.625, RatioContended: 1.5, Fairness: 1}},
		// Rounds: 20/8, 24/5, 22/5 of an add on 1 goroutine, 20/16, 24/16, 22/11 on 2; CPU 40/8,
		// 44/5, 42/5; shares 0.5, 1, 0.8.
		{"Next", 2, comparedRow{NsPerID: 22, CPUNsPerID: 42, RatioToAdd: 4.4, CPURatio: 8.4, RatioContended: 1.5, Fairness: 0.8}},
		{contestants.AtomicAddName, 1, comparedRow{NsPerID: 5, CPUNsPerID: 5, RatioToAdd: 1, CPURatio: 1, RatioContended: 1, Fairness: 1}},
		{"slower", 2, comparedRow{}},
	}
	for _, tt := range tests {
		got, ok := c.find(tt.name, tt.goroutines)
		figures := comparedRow{NsPerID: got.NsPerID, CPUNsPerID: got.CPUNsPerID, RatioToAdd: got.RatioToAdd, CPURatio: got.CPURatio,
			RatioContended: got.RatioContended, Fairness: got.Fairness}
		if !ok || figures != tt.want {
			t.Errorf("%s on %d: %+v, want %+v", tt.name, tt.goroutines, figures, tt.want)
		}
	}
	if _, ok := c.find("Next", 3); ok {
		t.Error("a row that was not measured was found")
	}
}

func TestComparisonIsPrintedAsInTheGoldenFiles(t *testing.T) {
	c := madeUpComparison()
	sameAsGoldens(t, "compare", c.Rows, c)
}
