package main

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func TestTailFlagsAreUnderstood(t *testing.T) {
	tests := []struct {
		args  string
		want  func(s *tailSettings)
		share time.Duration
	}{
		{"", func(*tailSettings) {}, 400 * time.Millisecond},
		{"-quick", func(s *tailSettings) { s.quick = true }, 50 * time.Millisecond},
		{"-for 5s -rate 1_000_000", func(s *tailSettings) { s.row, s.rate = 5*time.Second, 1_000_000 }, time.Second},
		{"-csv x.csv -json", func(s *tailSettings) { s.csv, s.json = "x.csv", true }, 400 * time.Millisecond},
	}
	for _, tt := range tests {
		want := newTailSettings()
		tt.want(&want)
		want.command = strings.TrimSpace("bench tail " + tt.args)
		got, err := parseTail(strings.Fields(tt.args))
		if err != nil || got != want || got.share() != tt.share {
			t.Errorf("%q: error %v, share %v, want %v\n got %+v\nwant %+v", tt.args, err, got.share(), tt.share, got, want)
		}
	}
}

// runOf returns a run with made-up samples: how many there are of each.
func runOf(t *testing.T, call, pressure string, l tailLoad, samples map[int64]int64) *tailRun {
	t.Helper()
	h := hdrhistogram.New(1, longest.Nanoseconds(), 3)
	for ns, n := range samples {
		if err := h.RecordValues(ns, n); err != nil {
			t.Fatal(err)
		}
	}
	return &tailRun{call: tailCall{name: call}, load: l, pressure: pressure, histogram: h}
}

func TestTailIsSetAgainstTheEmptyCallOfTheSameConditions(t *testing.T) {
	one, two := tailLoad{1, 0}, tailLoad{2, 0}
	rows := tailRows([]*tailRun{
		runOf(t, callEmpty, pressureNone, one, map[int64]int64{20: 999_990, 5_000: 10}),
		runOf(t, callNext, pressureNone, one, map[int64]int64{30: 999_960, 900: 5, 2_000: 35}),
		runOf(t, callEmpty, pressureNone, two, map[int64]int64{20: 1_999_900, 5_000: 100}),
		runOf(t, callNext, pressureNone, two, map[int64]int64{30: 999_970, 7_000: 30}),
		runOf(t, callNext, pressureCPU, two, map[int64]int64{30: 999_970, 7_000: 30}),
	})
	for i, want := range []struct{ slow, empty, own float64 }{{10, 10, 0}, {35, 10, 25}, {50, 50, 0}, {30, 50, 0}, {30, 0, 30}} {
		if got := rows[i]; got.Slow != want.slow || got.SlowEmpty != want.empty || got.SlowOwn != want.own {
			t.Errorf("row %d: %v, %v, %v; want %v", i, got.Slow, got.SlowEmpty, got.SlowOwn, want)
		}
	}
	if got := rows[1]; got.P50Ns != 30 || got.P999Ns != 30 || got.P9999Ns != 30 || got.P99999Ns != 2_000 || got.MaxNs != 2_000 || got.Samples != 1_000_000 || got.OneOf != 33 {
		t.Errorf("row %+v", got)
	}
}

func TestPercentilesOfTooFewSamplesAreLeftOut(t *testing.T) {
	row := runOf(t, callNext, pressureNone, tailLoad{2, 100_000}, map[int64]int64{30: 99_990, 800: 10}).row()
	if row.P9999Ns != 30 || row.P99999Ns != 0 || row.OneOf != 1 {
		t.Errorf("row %+v, want p99.99 but no p99.999", row)
	}
	row = runOf(t, callNext, pressureNone, tailLoad{2, 0}, map[int64]int64{30: 90_000}).row()
	if row.P999Ns != 30 || row.P9999Ns != 0 {
		t.Errorf("row %+v, want no p99.99", row)
	}
}

func TestTailerTimesEveryCallUnderAllConditions(t *testing.T) {
	bench, err := openTail(40_000)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := bench.close(); err != nil {
			t.Error(err)
		}
	}()
	tailer := tailer{bench: bench, pressures: pressureNames(), loads: tailLoads(1e6), rounds: 2, share: 3 * time.Millisecond}
	rows, err := tailer.measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := len(pressureNames()) * len(tailer.loads) * 5; len(rows) != want || tailer.done.Load() != int64(2*want) {
		t.Fatalf("%d rows, %d rounds, want %d rows", len(rows), tailer.done.Load(), want)
	}
	for _, row := range rows {
		if row.Rate == 0 && (row.Samples < 1 || row.P50Ns < 1 || row.P50Ns > row.MaxNs) {
			t.Errorf("row %+v", row)
		}
	}
	for _, g := range bench.gens {
		if g.Stats().Issued == 0 {
			t.Error("a generator was not asked for an ID")
		}
	}
	table := tailReport{Rows: rows}
	if n := table.callsInATable(); n != 5 {
		t.Errorf("%d rows in a table, want 5", n)
	}
}

func TestSamplerTimesOneOfSoManyCallsAndEndsWithAnError(t *testing.T) {
	calls := 0
	s := sampler{call: func() (int64, error) { calls++; return 0, nil }, every: 32}
	if err := s.turn(10); err != nil || calls != 320 || len(s.samples) != 10 {
		t.Errorf("%d calls, %d samples, %v", calls, len(s.samples), err)
	}
	s = sampler{every: 32}
	if err := s.turn(10); err != nil || len(s.samples) != 10 || slices.Min(s.samples) < 0 {
		t.Errorf("samples of the clock alone: %v, %v", s.samples, err)
	}
	broken := errors.New("broken")
	for _, at := range []int{3, 32} { // beside the sample, and in it
		calls = 0
		s = sampler{call: func() (int64, error) {
			if calls++; calls == at {
				return 0, broken
			}
			return 0, nil
		}, every: 32}
		if err := s.turn(10); !errors.Is(err, broken) || len(s.samples) != 0 {
			t.Errorf("call %d fails: %v, %d samples", at, err, len(s.samples))
		}
	}
}

func TestPressureEndsWhenItIsTold(t *testing.T) {
	for _, name := range pressureNames() {
		before := collections()
		end := startPressure(name)
		for name == pressureGC && collections() == before {
		}
		end()
	}
	var stop atomic.Bool
	stop.Store(true)
	if compute(&stop) != 1 {
		t.Error("a computation went on when it was told to stop")
	}
}

func TestTailIsPrintedAsInTheGoldenFiles(t *testing.T) {
	one, paced := tailLoad{1, 0}, tailLoad{2, 100_000}
	samples := map[int64]int64{30: 2_000_000, 900: 300, 2_000: 40, 25_000_000: 1}
	runs := []*tailRun{
		runOf(t, callClock, pressureNone, one, map[int64]int64{20: 3_000_000, 15_000: 30}),
		runOf(t, callEmpty, pressureNone, one, map[int64]int64{21: 3_000_000, 16_000: 33}),
		runOf(t, callNext, pressureNone, one, samples),
		runOf(t, callClock, pressureGC, paced, map[int64]int64{20: 190_000, 1_500: 3}),
		runOf(t, callEmpty, pressureGC, paced, map[int64]int64{21: 190_000, 1_600: 5}),
		runOf(t, callNext, pressureGC, paced, map[int64]int64{30: 190_000, 700: 200, 2_500: 9}),
	}
	runs[4].collections, runs[5].collections = 3, 4
	r := tailReport{facts: madeUp("bench tail"), RowSeconds: 2, Rows: tailRows(runs)}
	sameAsGolden(t, "tail.txt", printed(t, func(w *bytes.Buffer) error { return r.writeTables(w) }))
	sameAsGolden(t, "tail.csv", printed(t, func(w *bytes.Buffer) error { return writeCSV(w, r.Rows) }))
	sameAsGolden(t, "tail.json", printed(t, func(w *bytes.Buffer) error { return writeJSON(w, r) }))
}
