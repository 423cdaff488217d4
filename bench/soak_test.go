package main

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/uidring/uidring/bench/internal/count"
	"github.com/uidring/uidring/bench/internal/load"
)

// soakTestWorker is where the worker IDs of these tests begin; all have to fit the narrowest
// layout.
const soakTestWorker = 500

// TestEveryModeIssuesEachIDOnce is a small soak, of every mode.
func TestEveryModeIssuesEachIDOnce(t *testing.T) {
	const target = 500_000
	for i, mode := range soakModes() {
		t.Run(mode.name, func(t *testing.T) {
			row, err := mode.run(t.Context(), countingOf(mode, target), soakTestWorker+int64(i))
			if err != nil {
				t.Fatal(err)
			}
			if row.IDs < target || row.Different != row.IDs || row.Mode != mode.name || row.Bitmap < count.ChunkBytes {
				t.Errorf("row %+v, want %d IDs or more", row, target)
			}
			if clock := strings.HasPrefix(mode.name, "clock"); clock != (row.Put == 0) {
				t.Errorf("%d IDs put", row.Put)
			}
			if strings.HasPrefix(mode.name, "blocks-") && row.InlinePads == 0 {
				t.Errorf("blocks of a few IDs never ran out: %+v", row)
			}
		})
	}
}

// An ID has to become old before it is retired, so this takes as many as are needed for that.
func TestBlocksInUseAreRetired(t *testing.T) {
	modes := soakModes()
	mode := modes[slices.IndexFunc(modes, func(m soakMode) bool { return m.name == "retire" })]
	const atTheEnd = 2 << 17 // the ring at Close
	for target := int64(1 << 20); ; target *= 2 {
		row, err := mode.run(t.Context(), countingOf(mode, target), soakTestWorker+120)
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

func TestSoakComparesTheAccounts(t *testing.T) {
	taken := soakRow{IDs: 1000, Different: 1000}
	for _, tt := range []struct {
		name  string
		row   func(r *soakRow)
		want  error
		lacks string
	}{
		{"no accounts", func(*soakRow) {}, nil, ""},
		{"all is well", func(r *soakRow) {
			r.accounts = accounts{Put: 1234, Issued: 1000, Retired: 200, Remaining: 34}
		}, nil, ""},
		{"an ID taken is not in the bitmap", func(r *soakRow) { r.Different-- }, errMiscount, "999 different ones"},
		{"an ID taken was not issued", func(r *soakRow) { r.accounts = accounts{Put: 1234, Issued: 999, Retired: 235} }, errMiscount, "999 issued"},
		{"an ID put is lost", func(r *soakRow) { r.accounts = accounts{Put: 1234, Issued: 1000, Retired: 233} }, errMiscount, "make 1233"},
		{"an ID is in the accounts twice", func(r *soakRow) { r.accounts = accounts{Put: 1234, Issued: 1000, Retired: 235} }, errMiscount, "make 1235"},
	} {
		r := taken
		tt.row(&r)
		err := r.settle()
		if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.lacks) {
			t.Errorf("%s: %v, want %v with %q", tt.name, err, tt.want, tt.lacks)
		}
	}
}

// A generator whose accounts claim more IDs than were taken has lost some.
func TestSoakOfAGeneratorWithWrongAccountsFails(t *testing.T) {
	mode := soakModes()[0]
	open := mode.open
	mode.open = func(worker int64) (subject, error) {
		sub, err := open(worker)
		closeIt := sub.close
		sub.close = func() (accounts, error) {
			a, err := closeIt()
			a.Put++
			return a, err
		}
		return sub, err
	}
	if _, err := mode.run(t.Context(), countingOf(mode, 1000), soakTestWorker+130); !errors.Is(err, errMiscount) {
		t.Errorf("error %v, want %v", err, errMiscount)
	}
}

func countingOf(m soakMode, target int64) *count.Counting {
	return &count.Counting{Load: load.Load{Goroutines: m.goroutines}, Target: target, Unordered: m.unordered}
}

func TestSoakRunsTheModesAskedForAndSumsThemUp(t *testing.T) {
	s := new(soakSettings)
	if err := newSoak(s).ParseFlags([]string{"--ids", "1000", "--only", "lanes,next"}); err != nil {
		t.Fatal(err)
	}
	s.worker = soakTestWorker + 100
	r, err := s.measure(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 2 || r.Rows[0].Mode != "next" || r.Rows[1].Mode != "lanes" {
		t.Fatalf("rows %+v", r.Rows)
	}
	if r.Total.Modes != 2 || r.Total.IDs != r.Rows[0].IDs+r.Rows[1].IDs || r.Total.Duplicates != 0 {
		t.Errorf("total %+v", r.Total)
	}
	if text := r.Total.String(); !strings.Contains(text, "each counted in a bitmap, 0 duplicates") {
		t.Error(text)
	}
}

func TestSoakIsPrintedAsInTheGoldenFiles(t *testing.T) {
	rows := []soakRow{
		{Mode: "lanes", Summary: "Next, a lane per CPU", Goroutines: 8, Layout: "28/5/17/13 1s", IDs: 1_000_001_793, Different: 1_000_001_793,
			Seconds: 4.08, NsPerID: 4.08, Bitmap: 786_432,
			accounts: accounts{Put: 1_000_070_400, Issued: 1_000_001_793, Retired: 68_607, InlinePads: 2393, PaddingPasses: 9999}},
		{Mode: "clock", Summary: "defaultgen, Next", Goroutines: 2, Layout: "36/3/10/14 1ms", IDs: 1_000_000_257, Different: 1_000_000_257,
			Seconds: 163, NsPerID: 163, Bitmap: 10 << 20, accounts: accounts{Rejected: 12}},
	}
	r := soakReport{Facts: madeUp("bench soak"), Rows: rows, Total: totalOf(rows)}
	sameAsGoldens(t, "soak", r.Rows, r)
}
