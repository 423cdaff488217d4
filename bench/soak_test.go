package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/bitsalloc"
)

// soakTestWorker is where the worker IDs of these tests begin; all have to fit the narrowest layout.
const soakTestWorker = 500

// TestEveryModeIssuesEachIDOnce is a small soak, of every mode.
func TestEveryModeIssuesEachIDOnce(t *testing.T) {
	target := int64(2_000_000)
	if testing.Short() || raceEnabled {
		target = 200_000
	}
	for i, mode := range soakModes() {
		t.Run(mode.name, func(t *testing.T) {
			s := soaking{mode: mode, target: target}
			row, err := s.run(t.Context(), soakTestWorker+int64(i))
			if err != nil {
				t.Fatal(err)
			}
			if row.IDs < target || row.Different != row.IDs || row.Mode != mode.name || row.Bitmap < chunkBytes {
				t.Errorf("row %+v, want %d IDs or more", row, target)
			}
			if clock := strings.HasPrefix(mode.name, "clock"); clock != (row.Put == 0) {
				t.Errorf("%d IDs put", row.Put)
			}
			if strings.HasPrefix(mode.name, "runs-") && row.InlinePads == 0 {
				t.Errorf("runs of a few IDs never ran out: %+v", row)
			}
		})
	}
}

// An ID has to become old before it is retired, so this takes as many as are needed for that.
func TestRunsInUseAreRetired(t *testing.T) {
	modes := soakModes()
	mode := modes[slices.IndexFunc(modes, func(m soakMode) bool { return m.name == "retire" })]
	const atTheEnd = 2 << 17 // the ring at Close
	for target := int64(1 << 20); ; target *= 2 {
		s := soaking{mode: mode, target: target}
		row, err := s.run(t.Context(), soakTestWorker+120)
		if err != nil {
			t.Fatal(err)
		}
		if row.Retired > atTheEnd {
			return
		}
		if target > 1<<32 {
			t.Fatalf("%d IDs taken, %d retired: none while they were taken", row.IDs, row.Retired)
		}
	}
}

// faulty is a mode whose generator is a counter with a fault.
func faulty(t *testing.T, goroutines int, take func(n int64, fields *bitsalloc.Fields), books ledger) soakMode {
	a := newAllocator(t, bitsalloc.Default())
	var n atomic.Int64
	next := func() (int64, error) {
		n := n.Add(1)
		f := bitsalloc.Fields{Delta: testBase + n>>13, DatacenterID: testDatacenter, WorkerID: testWorker, Sequence: n & 8191}
		take(n, &f)
		return a.Allocate(f.Delta, f.DatacenterID, f.WorkerID, f.Sequence)
	}
	return soakMode{name: "faulty", goroutines: goroutines, unordered: true, open: func(int64) (*subject, error) {
		return &subject{
			alloc:    a,
			holder:   func() int64 { return testWorker },
			first:    next,
			consumer: func(int) consumer { return countNext(next) },
			close:    func() (ledger, error) { return books, nil },
		}, nil
	}}
}

func TestSoakEndsAtTheFirstIDThatIsWrong(t *testing.T) {
	for _, tt := range []struct {
		name string
		take func(n int64, f *bitsalloc.Fields)
		want error
		text string
	}{
		{"a duplicate, long after", func(n int64, f *bitsalloc.Fields) {
			if n == 90_000 {
				f.Delta, f.Sequence = testBase, 4321
			}
		}, errDuplicate, "sequence 4321"},
		{"another worker", func(n int64, f *bitsalloc.Fields) {
			if n == 70_001 {
				f.WorkerID++
			}
		}, errForeign, "worker 78"},
		{"another datacenter", func(n int64, f *bitsalloc.Fields) {
			if n == 70_001 {
				f.DatacenterID++
			}
		}, errForeign, "datacenter 4"},
		{"an ID from before the first one", func(n int64, f *bitsalloc.Fields) {
			if n == 70_001 {
				f.Delta = testBase - 1
			}
		}, errOutside, "not after the first ID of the run, with delta 1000"},
	} {
		s := soaking{mode: faulty(t, 3, tt.take, ledger{}), target: 100_000}
		_, err := s.run(t.Context(), 0)
		if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v, want %v with %q", tt.name, err, tt.want, tt.text)
		}
	}
}

func TestSoakComparesTheBooks(t *testing.T) {
	taken := soakRow{IDs: 1000, Different: 1000}
	for _, tt := range []struct {
		name  string
		row   func(r *soakRow)
		want  error
		lacks string
	}{
		{"no books", func(*soakRow) {}, nil, ""},
		{"all is well", func(r *soakRow) {
			r.ledger = ledger{Put: 1234, Issued: 1000, Retired: 200, Remaining: 34}
		}, nil, ""},
		{"an ID taken is not in the bitmap", func(r *soakRow) { r.Different-- }, errMiscount, "999 different ones"},
		{"an ID taken was not issued", func(r *soakRow) { r.ledger = ledger{Put: 1234, Issued: 999, Retired: 235} }, errMiscount, "999 issued"},
		{"an ID put is lost", func(r *soakRow) { r.ledger = ledger{Put: 1234, Issued: 1000, Retired: 233} }, errMiscount, "make 1233"},
		{"an ID is in the books twice", func(r *soakRow) { r.ledger = ledger{Put: 1234, Issued: 1000, Retired: 235} }, errMiscount, "make 1235"},
	} {
		r := taken
		tt.row(&r)
		err := r.settle()
		if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.lacks) {
			t.Errorf("%s: %v, want %v with %q", tt.name, err, tt.want, tt.lacks)
		}
	}
}

func TestSoakOfAFaultyGeneratorFailsWithItsBooks(t *testing.T) {
	right := func(int64, *bitsalloc.Fields) {}
	s := soaking{mode: faulty(t, 1, right, ledger{Put: 8192, Issued: 8192}), target: 1000}
	if _, err := s.run(t.Context(), 0); !errors.Is(err, errMiscount) {
		t.Errorf("error %v, want %v", err, errMiscount)
	}
}

func TestRangesAreCountedLikeSingleIDs(t *testing.T) {
	c, a := testChecker(t, testWorker)
	all := consecutive(t, a, testBase+1, 3*8192)
	s := c.stream(0)
	for at, n := 0, 1; at < len(all); at, n = at+n, n*7%509+1 {
		n = min(n, len(all)-at, 8192-at%8192)
		if err := s.recordRange(all[at], n); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := c.totals(); got != int64(len(all)) {
		t.Errorf("%d IDs counted, want %d", got, len(all))
	}
	for _, i := range []int{0, 1, 63, 64, 8191, 8192, len(all) - 1} {
		other := c.stream(1)
		if err := other.record(all[i : i+1]); !errors.Is(err, errDuplicate) || !strings.Contains(err.Error(), c.text(all[i])) {
			t.Errorf("ID %d again: %v", i, err)
		}
	}
	for name, tt := range map[string]struct {
		first int64
		n     int
		want  error
	}{
		"from the unit before": {all[0] - 1, 2, errOutside},
		"across two units":     {all[8191], 2, errOutside},
		"no ID":                {all[0], 0, errOutside},
		"a foreign worker":     {pack(t, a, testBase+9, testDatacenter, testWorker+1, 0), 5, errForeign},
		"before the base":      {pack(t, a, testBase-1, testDatacenter, testWorker, 0), 5, errOutside},
		"all of them again":    {all[8192], 8192, errDuplicate},
	} {
		if err := c.stream(2).recordRange(tt.first, tt.n); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	if err := s.recordRange(all[0], 1); !errors.Is(err, errOrder) {
		t.Errorf("a range below the last one: %v", err)
	}
}

// text is how an error names an ID.
func (c *checker) text(id int64) string {
	f, err := c.alloc.Parse(id)
	if err != nil {
		return err.Error()
	}
	return f.String()
}

func TestIDOfAClosedChunkIsCalledLate(t *testing.T) {
	c, a := testChecker(t, testWorker)
	ids := consecutive(t, a, testBase+1, 100)
	if err := c.stream(0).record(ids[:50]); err != nil {
		t.Fatal(err)
	}
	c.workers[testWorker].closeOldest()
	if err := c.stream(1).record(ids[60:]); !errors.Is(err, errLate) {
		t.Errorf("error %v, want %v", err, errLate)
	}
	if got, _ := c.totals(); got != 50 {
		t.Errorf("%d IDs counted, want 50", got)
	}
}

func TestUnorderedStreamMayGoBackButNotTwice(t *testing.T) {
	c, a := testChecker(t, testWorker)
	ids := consecutive(t, a, testBase+1, 20_000)
	s := c.stream(0)
	s.unordered = true
	for _, part := range [][]int64{ids[10_000:], ids[:10_000]} {
		if err := s.record(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.record(ids[123:124]); !errors.Is(err, errDuplicate) {
		t.Errorf("error %v, want %v", err, errDuplicate)
	}
	for _, id := range []int64{0, -1, -ids[0]} {
		if err := s.record([]int64{id}); !errors.Is(err, errOutside) {
			t.Errorf("ID %d: error %v, want %v", id, err, errOutside)
		}
	}
}

func TestSoakTakesAsManyIDsAsAskedFor(t *testing.T) {
	for args, want := range map[string]int64{"": 1_000_000_000, "-quick": 20_000_000, "-ids 7 -quick": 7, "-ids 10_000_000_000": 10_000_000_000} {
		s, err := parseSoak(strings.Fields(args))
		if err != nil || s.target() != want {
			t.Errorf("%q: %d IDs, %v; want %d", args, s.target(), err, want)
		}
	}
}

func TestSoakRunsTheModesAskedForAndSumsThemUp(t *testing.T) {
	s, err := parseSoak([]string{"-ids", "1000", "-only", "lanes,next"})
	if err != nil {
		t.Fatal(err)
	}
	s.worker = soakTestWorker + 100
	var r soakReport
	out := printed(t, func(w *bytes.Buffer) (err error) {
		r, err = soak(t.Context(), s, nil, w)
		return err
	})
	if len(r.Rows) != 2 || r.Rows[0].Mode != "next" || r.Rows[1].Mode != "lanes" {
		t.Fatalf("rows %+v", r.Rows)
	}
	if r.Total.Modes != 2 || r.Total.IDs != r.Rows[0].IDs+r.Rows[1].IDs || r.Total.Duplicates != 0 {
		t.Errorf("total %+v", r.Total)
	}
	if lines := strings.Count(string(out), "\n"); lines != 8 || !strings.Contains(string(out), "each counted exactly once, 0 duplicates") {
		t.Errorf("%d lines:\n%s", lines, out)
	}
	if _, err := soak(t.Context(), s, nil, brokenPipe{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v, want %v", err, io.ErrClosedPipe)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestSoakIsPrintedAsInTheGoldenFiles(t *testing.T) {
	rows := []soakRow{
		{Mode: "lanes", Summary: "Next, a lane per CPU", Goroutines: 8, Layout: "28/5/17/13 1s", IDs: 1_000_001_793, Different: 1_000_001_793,
			Seconds: 4.08, NsPerID: 4.08, Bitmap: 786_432,
			ledger: ledger{Put: 1_000_070_400, Issued: 1_000_001_793, Retired: 68_607, InlinePads: 2393, PaddingPasses: 9999}},
		{Mode: "clock", Summary: "defaultgen, Next", Goroutines: 2, Layout: "36/3/10/14 1ms", IDs: 1_000_000_257, Different: 1_000_000_257,
			Seconds: 163, NsPerID: 163, Bitmap: 10 << 20, ledger: ledger{Rejected: 12}},
	}
	r := soakReport{facts: madeUp("bench soak"), Rows: rows, Total: totalOf(rows)}
	sameAsGolden(t, "soak.txt", printed(t, func(w *bytes.Buffer) error {
		p := printer{bufio.NewWriter(w)}
		r.print(p)
		printSoakHead(p)
		for _, row := range rows {
			row.print(p)
		}
		r.Total.print(p)
		return p.Flush()
	}))
	sameAsGolden(t, "soak.csv", printed(t, func(w *bytes.Buffer) error { return writeCSV(w, rows) }))
	sameAsGolden(t, "soak.json", printed(t, func(w *bytes.Buffer) error { return writeJSON(w, r) }))
}
