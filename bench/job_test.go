package main

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bench/internal/count"
	"github.com/uidring/uidring/bench/internal/load"
	"github.com/uidring/uidring/bench/internal/report"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/testkit/testgen"
)

func newAllocator(t *testing.T, l bitsalloc.Layout) *bitsalloc.Allocator {
	t.Helper()
	a, err := bitsalloc.New(l, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// newTestJob returns a job with a generator.
func newTestJob(t *testing.T, worker int64, args string) *job {
	t.Helper()
	s, _ := parsed(t, newJob, args)
	g := testgen.Cached(t, s.config(assigner.Static(worker)))
	return &job{settings: s, gen: g, alloc: newAllocator(t, s.layout), report: new(jobReport)}
}

func TestPhasesReportTheIDsThatTheGeneratorIssued(t *testing.T) {
	for i, args := range []string{
		"",
		"--batch 100",
		"--lanes cpu",
		"--lanes goroutine",
		"--lanes goroutine --on-empty reject --boost-power 1 --padding-factor 1",
		"--lanes cpu --rate 1e6",
		"--batch 20_000 --boost-power 1",
		"--on-empty reject --boost-power 1 --padding-factor 1",
		"--on-empty reject --boost-power 1 --batch 1000",
		"--layout 45/0/17/0",
		"--layout snowflake --rate 1e6",
		"--rate 1e6 --batch 512",
	} {
		t.Run(args, func(t *testing.T) {
			j := newTestJob(t, int64(100+i), args+" --goroutines 3 --duration 60ms --check 50_000")
			if err := j.phases(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			r, issued := j.report, j.gen.Stats().Issued
			if r.Throughput.IDs < 1 || r.Throughput.IDs+r.Check.IDs > issued || r.Check.IDs != r.Check.Different || r.Check.IDs < 50_000 && j.load.Rate == 0 {
				t.Errorf("%d IDs measured, %+v checked, %d issued", r.Throughput.IDs, *r.Check, issued)
			}
			if r.Latency.Calls < 1 || r.Latency.P50Ns > r.Latency.P99Ns || r.Latency.P9999Ns > r.Latency.MaxNs {
				t.Errorf("latency %+v", r.Latency)
			}
			if paced := j.load.Rate > 0; paced != (len(r.Baselines) == 0) || paced != (r.Throughput.AllocsPerID == nil) {
				t.Errorf("baselines %+v, allocations %v", r.Baselines, r.Throughput.AllocsPerID)
			}
			for _, b := range r.Baselines {
				if b.AtomicAddNs <= 0 || b.MutexCountNs <= 0 || b.NsPerID <= 0 || b.RatioToAtomic <= 0 {
					t.Errorf("baseline %+v", b)
				}
			}
		})
	}
}

func TestCheckRefusesIDsBelowTheIDsOfEarlierPhases(t *testing.T) {
	j := newTestJob(t, 120, "")
	id, err := j.gen.Next()
	if err != nil {
		t.Fatal(err)
	}
	if err := j.checkAll(t.Context(), &count.Counting{Load: j.load, Target: 10}, id+1); !errors.Is(err, count.ErrOrder) {
		t.Errorf("error %v, want %v", err, count.ErrOrder)
	}
}

func TestUsedUpDeltaFieldEndsTheRunWithAdvice(t *testing.T) {
	// Few units are left, soon used up. Repeated in one process, the test needs another worker ID.
	l := bitsalloc.Layout{DeltaBits: 1, WorkerBits: 17, Unit: time.Minute}
	for newAllocator(t, l).Expires().Before(time.Now().Add(24 * time.Hour)) {
		l.DeltaBits++
	}
	s, _ := parsed(t, newJob, "--duration 1m")
	s.layout = l
	g, err := cached.New(s.config(assigner.Static(16 + rand.Int64N(100_000))))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	err = explain((&job{settings: s, gen: g, alloc: newAllocator(t, l), report: new(jobReport)}).phases(t.Context(), nil))
	if !errors.Is(err, cached.ErrTimeExhausted) {
		t.Fatalf("error %v, want %v", err, cached.ErrTimeExhausted)
	}
	if text := report.Lines(err); !strings.Contains(text, "measuring") || !strings.Contains(text, "--layout") {
		t.Errorf("the error does not say when, or give advice: %s", text)
	}
}

// madeUpJob returns the report of a job with made-up figures.
func madeUpJob(t *testing.T, args string, m measurement, oneOf int, source string) jobReport {
	s, cmd := parsed(t, newJob, args)
	alloc := newAllocator(t, s.layout)
	h := load.NewHistogram()
	for value, n := range map[int64]int64{30: 98_900, 120: 950, 950: 130, 5_000: 19, 12_000_000: 1} {
		if err := h.RecordValues(value, n); err != nil {
			t.Fatal(err)
		}
	}
	r := jobReport{Facts: madeUp(commandLine(cmd)), Generator: s.generator(alloc, m.after, source),
		Latency: newLatency(h, 22, oneOf), Memory: memory{3_800, 432_128, 6_081_740}}
	r.measured(s.load, m, alloc)
	if s.check > 0 {
		r.Check = &checks{100_000_257, 100_000_257, 0, 1.234, 524_288}
	}
	return r
}

func TestReportOfTheMainJobIsPrintedAsInTheGoldenFiles(t *testing.T) {
	flatOut := madeUpJob(t, "--goroutines 2", measurement{
		ids: 300_000_000, wall: 3 * time.Second, deltas: 36_621, mallocs: 15_000, ring: ring{InlinePads: 32_972, PaddingPasses: 33_196},
		after: cached.Stats{WorkerID: 1, Guarantee: assigner.GuaranteeFresh, Capacity: 65_536, Ahead: 11*time.Hour + 15*time.Minute},
		columns: []*column{
			{goroutines: 1, adds: []float64{5, 4.9, 6}, mutexes: []float64{15, 14, 16}, takes: []float64{6, 7, 6}},
			{goroutines: 2, adds: []float64{8, 8.1, 8}, mutexes: []float64{20, 21, 22}, takes: []float64{10, 10, 12.05}},
		},
	}, 32, "WORKER_NODE, SQLite in a temporary folder")
	paced := madeUpJob(t, "--batch 256 --check 0 --goroutines 1 --layout snowflake --rate 1e6 --schedule 250ms --on-empty reject --boost-power 1", measurement{
		ids: 3_000_000, wall: 3 * time.Second, deltas: 732, ring: ring{4_321, 32_972, 33_196},
		after: cached.Stats{WorkerID: 1023, Guarantee: assigner.GuaranteeDerived, Capacity: 8_192, Ahead: -1500 * time.Millisecond},
	}, 1, "--worker")
	for name, r := range map[string]jobReport{"flat_out": flatOut, "paced": paced} {
		sameAsGolden(t, name+".txt", shown(t, false, r))
		sameAsGolden(t, name+".json", shown(t, true, r))
	}
}
