package main

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestCompareFlagsAreUnderstood(t *testing.T) {
	tests := []struct {
		args string
		want func(s *compareSettings)
	}{
		{"", func(*compareSettings) {}},
		{"-quick", func(s *compareSettings) { s.rounds, s.lap = 3, 20*time.Millisecond }},
		{"-quick -rounds 9", func(s *compareSettings) { s.rounds, s.lap = 9, 20*time.Millisecond }},
		{"-lap 2s -quick", func(s *compareSettings) { s.rounds, s.lap = 3, 2*time.Second }},
		{"-goroutines 4,16", func(s *compareSettings) { s.many = []int{4, 16} }},
		{"-csv x.csv -json", func(s *compareSettings) { s.csv, s.json = "x.csv", true }},
	}
	for _, tt := range tests {
		want := compareSettings{commandLine: strings.TrimSpace("bench compare " + tt.args), rounds: 5, lap: 100 * time.Millisecond,
			many: []int{1, 2, 8, 64, 1024}}
		tt.want(&want)
		got, err := parseCompare(strings.Fields(tt.args))
		if err != nil || got.commandLine != want.commandLine || got.rounds != want.rounds || got.lap != want.lap ||
			!slices.Equal(got.many, want.many) || got.csv != want.csv || got.json != want.json {
			t.Errorf("%q: %v\n got %+v\nwant %+v", tt.args, err, got, want)
		}
	}
	for _, list := range []string{"", "0", "1,", "2,x", "65537"} {
		if _, err := parseCompare([]string{"-goroutines", list}); err == nil || !strings.Contains(err.Error(), "-goroutines") {
			t.Errorf("-goroutines %q: %v", list, err)
		}
	}
}

// TestEveryContestantIssues takes IDs from all of them as a lap does, by two goroutines' hands.
func TestEveryContestantIssues(t *testing.T) {
	for i, c := range contestants() {
		t.Run(c.name, func(t *testing.T) {
			if c.open == nil {
				if c.perSecond == 0 {
					t.Error("neither measured nor capped")
				}
				return
			}
			src, err := c.open(t.Context(), int64(1000+i))
			if err != nil {
				t.Fatal(err)
			}
			var seen []int64
			for range 2 {
				take, leave := src.join()
				for range 2 {
					last, err := take(stride)
					if err != nil {
						t.Fatal(err)
					}
					seen = append(seen, last)
				}
				leave()
			}
			if err := src.close(); err != nil {
				t.Error(err)
			}
			if c.bits == 63 && len(slices.Compact(slices.Sorted(slices.Values(seen)))) != len(seen) {
				t.Errorf("took %d, want different ones", seen)
			}
		})
	}
}

// The baselines are no generators of IDs, and the original's ring may return an ID twice.
func TestNoContestantOf63BitsIssuesAnIDTwice(t *testing.T) {
	const hands = 4
	for i, c := range contestants() {
		if c.open == nil || c.bits != 63 || c.kind == kindBaseline {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			src, err := c.open(t.Context(), int64(2000+i))
			if err != nil {
				t.Fatal(err)
			}
			each := 50_000
			if c.perSecond > 0 {
				each = min(each, int(c.perSecond/100))
			}
			ids := make([]int64, hands*each)
			_, err = race(t.Context(), hands, 0, func(_ context.Context, hand int, _ *atomic.Bool) (err error) {
				take, leave := src.join()
				defer leave()
				for k := hand * each; k < (hand+1)*each; k++ {
					if ids[k], err = take(1); err != nil {
						return err
					}
				}
				return nil
			})
			if err := errors.Join(err, src.close()); err != nil {
				t.Fatal(err)
			}
			slices.Sort(ids)
			if different := len(slices.Compact(ids)); different != hands*each {
				t.Errorf("%d IDs, %d different ones", hands*each, different)
			}
		})
	}
}

func TestContestantsAreNamedOnceAndDescribed(t *testing.T) {
	names := make(map[string]bool)
	for _, c := range contestants() {
		if names[c.name] {
			t.Errorf("%s: twice", c.name)
		}
		names[c.name] = true
		if !slices.Contains(kinds(), c.kind) || c.kind != kindBaseline && (c.bits == 0 || c.order == "" || c.worker == "" || c.ahead == "") {
			t.Errorf("%s: %+v", c.name, c)
		}
		if c.crowd && c.perSecond > 0 {
			t.Errorf("%s: many goroutines wait for the cap alone", c.name)
		}
	}
	for _, name := range append([]string{nameAtomicAdd}, lineNames()...) {
		if !names[name] {
			t.Errorf("no contestant %s", name)
		}
	}
}

func TestEventsAreEachContestantOnEachNumberOfGoroutines(t *testing.T) {
	list := []contestant{{name: "a"}, {name: "b", crowd: true}}
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
			got = append(got, e.contestant.name+comma(int64(e.goroutines)))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%d CPUs: %q, want %s", tt.cpus, got, tt.want)
		}
	}
}

// counting is a contestant that counts what happens to it.
func counting(name string, joined, closed *atomic.Int64, take error) contestant {
	return contestant{name: name, open: func(context.Context, int64) (source, error) {
		return source{
			join: func() (taker, func()) {
				joined.Add(1)
				return func(n int) (int64, error) { return int64(n), take }, func() {}
			},
			close: func() error {
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
		{contestant: contestant{name: "capped", perSecond: 1}, goroutines: 1},
		{contestant: counting("b", &joined, &closed, nil), goroutines: 1},
	}
	if err := hold(t.Context(), all, 3, time.Millisecond, func() { ticks++ }); err != nil {
		t.Fatal(err)
	}
	if joined.Load() != 6 || closed.Load() != 6 || ticks != 6 {
		t.Errorf("joined %d, closed %d, told %d, want 6", joined.Load(), closed.Load(), ticks)
	}
	for i, want := range []int{3, 0, 3} {
		if got := all[i].sprints; len(got) != want {
			t.Errorf("%s: %d laps, want %d", all[i].contestant.name, len(got), want)
		}
		for _, s := range all[i].sprints {
			if s.total() < stride || s.total()%stride != 0 || s.wall <= 0 {
				t.Errorf("%s: %d IDs in %v", all[i].contestant.name, s.total(), s.wall)
			}
		}
	}
}

func TestAFailedLapNamesItsContestantAndIsClosed(t *testing.T) {
	refused := errors.New("refused")
	var joined, closed atomic.Int64
	_, err := runSprint(t.Context(), counting("a", &joined, &closed, refused), 2, time.Hour, 1)
	if !errors.Is(err, refused) || !strings.HasPrefix(err.Error(), "a: ") || closed.Load() != 1 {
		t.Errorf("%v, closed %d times", err, closed.Load())
	}
	c := contestant{name: "b", open: func(context.Context, int64) (source, error) { return source{}, refused }}
	if _, err := runSprint(t.Context(), c, 1, time.Hour, 1); !errors.Is(err, refused) || !strings.HasPrefix(err.Error(), "b: ") {
		t.Errorf("%v", err)
	}
}

func TestYieldsComeOnceASlice(t *testing.T) {
	for _, tt := range []struct {
		every int
		took  time.Duration
		want  int
	}{
		{1, slice, 1}, {1, slice / 50, 50}, {50, slice / 2, 100}, {100, 4 * slice, 25}, {100, time.Second, 1}, {1000, 0, 1 << 20},
	} {
		if got := steps(tt.every, tt.took); got != tt.want {
			t.Errorf("steps(%d, %v) = %d, want %d", tt.every, tt.took, got, tt.want)
		}
	}
}

func TestLapsOfCrowdsAreLonger(t *testing.T) {
	for n, want := range map[int]time.Duration{1: time.Second, 64: time.Second, 1024: 4 * time.Second} {
		if got := (&event{goroutines: n}).lap(time.Second); got != want {
			t.Errorf("%d goroutines: %v, want %v", n, got, want)
		}
	}
}

// A machine that others use as well may not give a lap all its CPUs; the figures then mean something else.
func TestCPUsThatWereNotThereAreMentioned(t *testing.T) {
	c := madeUpComparison() // 2.0 CPUs
	if got := c.starved(); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
	i := slices.IndexFunc(c.Rows, func(r comparedRow) bool { return r.Name == nameAtomicAdd && r.Goroutines == 2 })
	c.Rows[i].CPUNsPerID = 1.05 * c.Rows[i].NsPerID
	want := "Others used the machine: the atomic add had 1.0 of 1 CPU, 1.1 of 2 CPUs. Wall times are too long then; CPU times tell more."
	if got := c.starved(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	c.Rows[i].CPUNsPerID = 0 // unknown
	if got := c.starved(); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}

// lapOf is a lap with made-up figures: ns of wall time and CPU time per ID.
func lapOf(wallNs, cpuNs int, ids ...int64) sprint {
	s := sprint{ids: ids}
	s.wall, s.cpu = time.Duration(int64(wallNs)*s.total()), time.Duration(int64(cpuNs)*s.total())
	return s
}

// madeUpEvents are a whole comparison with made-up figures, on 2 CPUs.
func madeUpEvents() []*event {
	own := contestant{name: "Next", kind: kindOwn, bits: 63, order: "increasing", worker: "worker ID", ahead: "unbounded", crowd: true}
	capped := contestant{name: "slow|flake", kind: kindOther, bits: 63, order: "increasing", worker: "yours", ahead: "none", perSecond: 25_600, note: "waits"}
	untimed := contestant{name: "slower", kind: kindOther, bits: 64, order: "none", worker: "random bits", perSecond: 8_192}
	add := contestant{name: nameAtomicAdd, kind: kindBaseline, order: "increasing", crowd: true}
	return []*event{
		{own, 1, []sprint{lapOf(12, 13, 100), lapOf(6, 7, 100), lapOf(9, 9, 100)}},
		{own, 2, []sprint{lapOf(20, 40, 100, 50), lapOf(24, 44, 100, 100), lapOf(22, 42, 80, 100)}},
		{contestant{name: "Next, a lane per CPU", kind: kindOwn, bits: 63}, 1, []sprint{lapOf(4, 4, 1), lapOf(4, 4, 1), lapOf(4, 4, 1)}},
		{contestant{name: "Lane.Next", kind: kindOwn, bits: 63}, 1, []sprint{lapOf(1, 1, 1), lapOf(1, 1, 1), lapOf(1, 1, 1)}},
		{contestant{name: "mutex and counter", kind: kindBaseline}, 1, []sprint{lapOf(14, 14, 1), lapOf(14, 14, 1), lapOf(14, 14, 1)}},
		{own, 8, []sprint{lapOf(30, 60, 1, 2, 3, 4, 5, 6, 7, 8), lapOf(31, 60, 1, 2, 3, 4, 5, 6, 7, 8), lapOf(32, 60, 4, 4, 4, 4, 4, 4, 4, 5)}},
		{capped, 1, []sprint{lapOf(39_000, 300, 100), lapOf(39_100, 310, 100), lapOf(39_200, 320, 100)}},
		{capped, 2, []sprint{lapOf(39_000, 300, 50, 50), lapOf(39_100, 310, 50, 50), lapOf(39_200, 320, 50, 50)}},
		{untimed, 1, nil},
		{untimed, 2, nil},
		{add, 1, []sprint{lapOf(8, 8, 100), lapOf(5, 5, 100), lapOf(5, 5, 100)}},
		{add, 2, []sprint{lapOf(16, 32, 50, 50), lapOf(16, 32, 50, 50), lapOf(11, 22, 50, 50)}},
		{add, 8, []sprint{lapOf(15, 30, 9, 10), lapOf(15, 30, 9, 10), lapOf(16, 30, 9, 10)}},
	}
}

func madeUpComparison() comparison {
	return comparison{facts: madeUp("bench compare"), Rounds: 3, LapMs: 20, Rows: compared(madeUpEvents())}
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
		// Rounds: 20/8, 24/5, 22/5 of an add on 1 goroutine, 20/16, 24/16, 22/11 on 2; CPU 40/8, 44/5, 42/5; shares 0.5, 1, 0.8.
		{"Next", 2, comparedRow{NsPerID: 22, CPUNsPerID: 42, RatioToAdd: 4.4, CPURatio: 8.4, RatioContended: 1.5, Fairness: 0.8}},
		{nameAtomicAdd, 1, comparedRow{NsPerID: 5, CPUNsPerID: 5, RatioToAdd: 1, CPURatio: 1, RatioContended: 1, Fairness: 1}},
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
	sameAsGolden(t, "compare.txt", printed(t, func(w *bytes.Buffer) error { return c.writeTables(w) }))
	sameAsGolden(t, "compare.csv", printed(t, func(w *bytes.Buffer) error { return writeCSV(w, c.Rows) }))
	sameAsGolden(t, "compare.json", printed(t, func(w *bytes.Buffer) error { return writeJSON(w, c) }))
}
