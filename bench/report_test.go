package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
)

var update = flag.Bool("update", false, "write the golden files anew")

func testMachine() machine {
	return machine{GoVersion: "go1.26.0", OS: "linux", Arch: "amd64", CPU: "Some CPU 3000", CPUs: 8, GOMAXPROCS: 2}
}

// flatOut is the outcome of a run without flags, all its figures made up.
func flatOut(t *testing.T) outcome {
	s := plain()
	s.goroutines = 2
	h := hdrhistogram.New(1, longest.Nanoseconds(), 3)
	for value, n := range map[int64]int64{30: 98_900, 120: 950, 950: 130, 5_000: 19, 12_000_000: 1} {
		if err := h.RecordValues(value, n); err != nil {
			t.Fatal(err)
		}
	}
	return outcome{
		settings: s,
		alloc:    newAllocator(t, s.layout),
		date:     time.Date(2027, time.March, 4, 5, 6, 7, 8, time.FixedZone("", 3600)),
		source:   "WORKER_NODE, SQLite in a temporary folder",
		measured: measuredRun{
			lap:           lap{ids: 300_000_000, wall: 3 * time.Second},
			rejectedTakes: 0,
			inlinePads:    32_972,
			paddingPasses: 33_196,
			deltas:        36_621,
			mallocs:       15_000,
			after: cached.Stats{WorkerID: 1, Guarantee: assigner.GuaranteeFresh, Capacity: 65_536,
				Ahead: 11*time.Hour + 15*time.Minute},
			columns: []*column{
				{goroutines: 1, adds: []float64{5, 4.9, 6}, mutexes: []float64{15, 14, 16}, takes: []float64{6, 7, 6}},
				{goroutines: 2, adds: []float64{8, 8.1, 8}, mutexes: []float64{20, 21, 22}, takes: []float64{10, 10, 12.05}},
			},
		},
		latency:       latencyRun{histogram: h, clock: 22, every: 32},
		checked:       checkedRun{taken: 100_000_257, ids: 100_000_257, bitmapBytes: 524_288, wall: 1234 * time.Millisecond},
		generatorHeap: 3_800,
		heap:          432_128,
		fromOS:        6_081_740,
	}
}

// paced is the outcome of a run with other flags, the check left out.
func paced(t *testing.T) outcome {
	o := flatOut(t)
	s := &o.settings
	s.command = "bench -batch 256 -check 0 -goroutines 1 -layout snowflake -rate 1e6 -schedule 250ms"
	s.layout, s.batch, s.goroutines, s.rate, s.check = bitsalloc.Snowflake(), 256, 1, 1e6, 0
	s.schedule, s.onEmpty, s.boostPower = 250*time.Millisecond, "reject", 1
	o.alloc = newAllocator(t, s.layout)
	o.measured.ids, o.measured.deltas, o.measured.rejectedTakes = 3_000_000, 732, 4_321
	o.measured.columns = nil
	o.measured.after = cached.Stats{WorkerID: 1023, Guarantee: assigner.GuaranteeDerived, Capacity: 8_192, Ahead: -1500 * time.Millisecond}
	o.latency.every = 1
	o.source = "-worker"
	return o
}

func TestReportIsPrintedAsInTheGoldenFiles(t *testing.T) {
	for name, make := range map[string]func(*testing.T) outcome{"flat_out": flatOut, "paced": paced} {
		for _, ext := range []string{"txt", "json"} {
			o := make(t)
			var got bytes.Buffer
			if err := o.report(testMachine()).write(&got, ext == "json"); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name+"."+ext)
			if *update {
				if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("%s differs (go test -update writes it anew):\n%s", path, got.Bytes())
			}
		}
	}
}
