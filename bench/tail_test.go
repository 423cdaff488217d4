package main

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/bench/internal/load"
)

// runOf returns a tail with made-up samples, by their number.
func runOf(t *testing.T, name, pressure string, l load.Load, samples map[int64]int64) *tail {
	t.Helper()
	h := load.NewHistogram()
	for ns, n := range samples {
		if err := h.RecordValues(ns, n); err != nil {
			t.Fatal(err)
		}
	}
	return &tail{call: call{name: name}, load: l, pressure: pressure, histogram: h}
}

func TestTailIsSetAgainstTheEmptyCallOfTheSameConditions(t *testing.T) {
	one, two := load.Load{Goroutines: 1}, load.Load{Goroutines: 2}
	rows := tailRows([]*tail{
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
	row := runOf(t, callNext, pressureNone, load.Load{Goroutines: 2, Rate: 100_000}, map[int64]int64{30: 99_990, 800: 10}).row()
	if row.P9999Ns != 30 || row.P99999Ns != 0 || row.OneOf != 1 {
		t.Errorf("row %+v, want p99.99 but no p99.999", row)
	}
	row = runOf(t, callNext, pressureNone, load.Load{Goroutines: 2}, map[int64]int64{30: 90_000}).row()
	if row.P999Ns != 30 || row.P9999Ns != 0 {
		t.Errorf("row %+v, want no p99.99", row)
	}
}

func TestTailerTimesEveryCallUnderAllConditions(t *testing.T) {
	calls, closeAll, err := openCalls(40_000)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := closeAll(); err != nil {
			t.Error(err)
		}
	}()
	tailer := tailer{tails: tails(calls, 1e6), rounds: 2, share: 3 * time.Millisecond}
	rows, err := tailer.measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	loads := min(3, 1+runtime.GOMAXPROCS(0))
	if want := len(pressures()) * loads * 5; len(rows) != want || tailer.done.Load() != int64(2*want) {
		t.Fatalf("%d rows, %d rounds, want %d rows", len(rows), tailer.done.Load(), want)
	}
	for _, row := range rows {
		if row.Rate == 0 && (row.Samples < 1 || row.P50Ns < 1 || row.P50Ns > row.MaxNs) {
			t.Errorf("row %+v", row)
		}
	}
	for i, rows := range (tailReport{Rows: rows}).groups() {
		if len(rows) != 5 {
			t.Errorf("%d rows in table %d, want 5", len(rows), i)
		}
	}
}

func TestPressureEndsWhenItIsTold(t *testing.T) {
	for _, name := range pressures() {
		before := memStats().NumGC
		end := startPressure(name)
		for name == pressureGC && memStats().NumGC == before {
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
	one, paced := load.Load{Goroutines: 1}, load.Load{Goroutines: 2, Rate: 100_000}
	samples := map[int64]int64{30: 2_000_000, 900: 300, 2_000: 40, 25_000_000: 1}
	runs := []*tail{
		runOf(t, callClock, pressureNone, one, map[int64]int64{20: 3_000_000, 15_000: 30}),
		runOf(t, callEmpty, pressureNone, one, map[int64]int64{21: 3_000_000, 16_000: 33}),
		runOf(t, callNext, pressureNone, one, samples),
		runOf(t, callClock, pressureGC, paced, map[int64]int64{20: 190_000, 1_500: 3}),
		runOf(t, callEmpty, pressureGC, paced, map[int64]int64{21: 190_000, 1_600: 5}),
		runOf(t, callNext, pressureGC, paced, map[int64]int64{30: 190_000, 700: 200, 2_500: 9}),
	}
	runs[4].collections, runs[5].collections = 3, 4
	r := tailReport{Facts: madeUp("bench tail"), RowSeconds: 2, Rows: tailRows(runs)}
	sameAsGoldens(t, "tail", r.Rows, r)
}
