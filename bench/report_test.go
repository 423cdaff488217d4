package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/uidring/uidring/bench/internal/load"
)

// madeUpResults are a whole report with made-up figures.
func madeUpResults() results {
	r := results{
		Command: "bench report",
		Compare: madeUpComparison(),
		Sweep:   sweepReport{Facts: madeUp("bench sweep"), Rounds: 5, CellSeconds: 0.6},
		Tail:    tailReport{Facts: madeUp("bench tail"), RowSeconds: 2},
		Soak:    soakReport{Facts: madeUp("bench soak")},
	}
	for _, onEmpty := range []string{"pad", "reject"} {
		for _, boost := range []int{1, 3} {
			for i, padding := range []int{10, 50, 90} {
				r.Sweep.Rows = append(r.Sweep.Rows, sweepRow{Sweep: sweepRing, Boost: boost, Padding: padding, OnEmpty: onEmpty, Goroutines: 2,
					Lanes: 1, IDs: 1e6, NsPerID: 20, AtomicAddNs: 16, Ratio: 1.1 + float64(boost*i)/10, RatioLow: 1, RatioHigh: 1.5, P9999Ns: int64(100 * boost)})
			}
		}
	}
	for _, name := range sweepNames()[1:] {
		for n := 1; n <= 3; n++ {
			r.Sweep.Rows = append(r.Sweep.Rows, sweepRow{Sweep: name, Boost: 3, Padding: 50, OnEmpty: "pad", Goroutines: n, Lanes: 1, SequenceBits: 8 + n,
				Layout: "31/0/16/9 1s", IDs: 1e6, NsPerID: float64(10 * n), AtomicAddNs: 8, Ratio: 1.25 * float64(n), P9999Ns: 1234, IDTimeRate: 3600})
		}
	}
	for _, pressure := range pressures() {
		for _, l := range []load.Load{{Goroutines: 1}, {Goroutines: 2}, {Goroutines: 2, Rate: 1e5}} {
			for i, call := range []string{callEmpty, callNext} {
				ns := int64(20 * (i + 1))
				r.Tail.Rows = append(r.Tail.Rows, tailRow{Call: call, Pressure: pressure, Goroutines: l.Goroutines, Rate: l.Rate, Samples: 99_000,
					OneOf: 32, P50Ns: ns, P90Ns: ns + 1, P99Ns: ns + 5, P999Ns: 10 * ns, P9999Ns: 100 * ns, MaxNs: 12_000_000, Slow: 20, SlowOwn: float64(10 * i)})
			}
		}
	}
	r.Soak.Rows = []soakRow{{Mode: "next", Summary: "Next, all CPUs", Goroutines: 2, IDs: 1e9, Different: 1e9, Seconds: 12.5, NsPerID: 12.5,
		accounts: accounts{Put: 1_000_008_192, Issued: 1e9, Retired: 8_192}}}
	r.Soak.Total = totalOf(r.Soak.Rows)
	return r
}

func TestReportIsWrittenAsInTheGoldenFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "docs", "benchmarks")
	if err := madeUpResults().publish(dir); err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	sameAsGolden(t, "report.md", readme)
	linked := regexp.MustCompile(`(?:src|href)="([^"]+)"|\]\(([^)]+)\)`)
	for _, m := range linked.FindAllStringSubmatch(string(readme), -1) {
		if _, err := os.Stat(filepath.Join(dir, m[1]+m[2])); err != nil {
			t.Errorf("README.md links to a file that is not there: %v", err)
		}
	}
	checkPictures(t, dir)
}

// committed is the folder of the report in this repository.
const committed = "../docs/benchmarks"

func TestFiguresMatchTheirSchema(t *testing.T) {
	dir := t.TempDir()
	if err := madeUpResults().publish(dir); err != nil {
		t.Fatal(err)
	}
	read := func(dir, name string) []byte {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	schema := read(committed, schemaFile)
	if !bytes.Equal(schema, read(dir, schemaFile)) {
		t.Errorf("%s in %s is not the schema of a report: go run ./bench report --redraw writes it anew", schemaFile, committed)
	}
	var parsed jsonschema.Schema
	if err := json.Unmarshal(schema, &parsed); err != nil {
		t.Fatal(err)
	}
	resolved, err := parsed.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	check := func(text []byte) error {
		var figures any
		if err := json.Unmarshal(text, &figures); err != nil {
			t.Fatal(err)
		}
		return resolved.Validate(figures)
	}
	for _, dir := range []string{committed, dir} {
		if err := check(read(dir, figuresFile)); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	}
	for _, broken := range [][2]string{{`"ns_per_id"`, `"nsPerID"`}, {`"goroutines": 1`, `"goroutines": "1"`}, {`"cpus": 8`, `"cpus": 8, "cores": 8`}} {
		text := read(dir, figuresFile)
		if check(bytes.Replace(text, []byte(broken[0]), []byte(broken[1]), 1)) == nil {
			t.Errorf("figures with %s in place of %s match", broken[1], broken[0])
		}
	}
}

// checkPictures holds every picture to be well-formed and to say where it comes from.
func checkPictures(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	if err != nil || len(names) != 6 {
		t.Errorf("pictures %q, %v; want 6", names, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
		}
		decoder := xml.NewDecoder(bytes.NewReader(text))
		for err == nil {
			_, err = decoder.Token()
		}
		if !errors.Is(err, io.EOF) || !bytes.Contains(text, []byte("go run ./bench")) || !bytes.Contains(text, []byte("2027-03-04")) ||
			bytes.Contains(text, []byte("NaN")) || bytes.Contains(text, []byte("Inf")) {
			t.Errorf("%s: %v, no caption, or a position that is no number", name, err)
		}
	}
	sameAsGolden(t, "compare.svg", []byte(madeUpComparison().bars().SVG()))
}

func TestRedrawnReportIsTheSame(t *testing.T) {
	dir := t.TempDir()
	if err := madeUpResults().publish(dir); err != nil {
		t.Fatal(err)
	}
	before := contents(t, dir)
	for name := range before {
		if name != figuresFile {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	var stdout, stderr bytes.Buffer
	if status := run([]string{"report", "--redraw", "--out", dir}, &stdout, &stderr); status != 0 || stderr.Len() > 0 {
		t.Fatalf("status %d, stderr %q", status, &stderr)
	}
	after := contents(t, dir)
	if len(before) != 13 || len(after) != len(before) {
		t.Errorf("%d files, then %d, want 13", len(before), len(after))
	}
	for name, text := range before {
		if after[name] != text {
			t.Errorf("%s differs", name)
		}
	}
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(text)
	}
	return files
}

func TestReportRefuses(t *testing.T) {
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, figuresFile), []byte(`{"command": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	partial := t.TempDir()
	if err := os.WriteFile(filepath.Join(partial, figuresFile), []byte(`{"sweep": {"rows": [{"sweep": "ring", "goroutines": 1}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"--full", "--redraw"}, 2, "--full and --redraw"},
		{[]string{"--out", ""}, 2, `"" for "--out"`},
		{[]string{"--out", filepath.Join(broken, figuresFile)}, 1, "--out: "}, // a file
		{[]string{"--redraw", "--out", t.TempDir()}, 1, figuresFile},
		{[]string{"--redraw", "--out", broken}, 1, figuresFile},
		{[]string{"--redraw", "--out", partial}, 1, "no rows of compare, mutex and counter on 1 goroutine; no rows of sweep, goroutines"},
		{[]string{"--redraw", "--out", partial}, 1, "no rows of sweep with times above 0: ring"},
	} {
		var stdout, stderr bytes.Buffer
		status := run(slices.Concat([]string{"report"}, tt.args), &stdout, &stderr)
		if status != tt.status || !strings.Contains(stderr.String(), tt.want) || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%q: status %d, want %d; stderr %q, want %q", tt.args, status, tt.status, &stderr, tt.want)
		}
	}
}
