package main

import (
	"encoding/xml"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bench/internal/contestants"
	"github.com/uidring/uidring/bench/internal/load"
	"github.com/uidring/uidring/bench/internal/report"
	"github.com/uidring/uidring/internal/test/testkit"
)

// committed is the folder of the report in this repository.
const committed = "../docs/benchmarks"

func TestCommittedReportIsComplete(t *testing.T) { checkReport(t, committed) }

func TestReadmesShowTheFiguresOfTheReport(t *testing.T) {
	short, _, _ := strings.Cut(testkit.ReadFile(t, filepath.Join(committed, "README.md")), "\n## ")
	figure := regexp.MustCompile(`[\d.]+ (?:ns|×)`)
	want := figure.FindAllString(short, -1)
	for _, name := range []string{"../README.md", "../README.zh-CN.md"} {
		var got []string
		for line := range strings.Lines(testkit.ReadFile(t, name)) {
			if strings.HasPrefix(line, "|") {
				got = append(got, figure.FindAllString(line, -1)...)
			}
		}
		if len(want) != 21 || !slices.Equal(got, want) {
			t.Errorf("the tables of %s have the figures %q, want the figures of the report %q", name, got, want)
		}
	}
}

// A README has no other rates of a generator than the report.
func TestReadmesShowTheRatesOfTheReport(t *testing.T) {
	figure := regexp.MustCompile(`\d+(?:,\d{3})+|[\d.]+ million`)
	_, rates, _ := strings.Cut(testkit.ReadFile(t, filepath.Join(committed, "README.md")), "## Sustained rates")
	for _, name := range []string{"../README.md", "../README.zh-CN.md"} {
		for line := range strings.Lines(strings.ReplaceAll(testkit.ReadFile(t, name), "`", "")) {
			generator, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
			_, row, found := strings.Cut(rates, "\n| "+generator+" |")
			row, _, _ = strings.Cut(row, "\n")
			for _, rate := range figure.FindAllString(line, -1) {
				if found && !slices.Contains(figure.FindAllString(row, -1), rate) {
					t.Errorf("%s: %s makes %s a second, want the report's: %s", name, generator, rate, row)
				}
			}
		}
	}
}

// checkReport checks that a report has its parts, with the facts of each, and its picture.
func checkReport(t *testing.T, dir string) {
	t.Helper()
	text := testkit.ReadFile(t, filepath.Join(dir, "README.md"))
	for _, want := range []string{"# Benchmarks\n", "`go run ./bench compare", "`go run ./bench soak", "GOMAXPROCS", "go1.", " UTC, commit ",
		"| Next |", "| edwingeng/wuid |", "| " + contestants.AtomicAdd + " |", "0 duplicates"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, dir)
		}
	}
	picture := testkit.ReadFile(t, filepath.Join(dir, "compare.svg"))
	if err := xml.Unmarshal([]byte(picture), new(struct{})); err != nil {
		t.Errorf("compare.svg: %v", err)
	}
	if strings.Contains(picture, "NaN") || strings.Contains(picture, "Inf") || !strings.Contains(picture, ">uidring: Next</text>") {
		t.Errorf("compare.svg has a position that is no number, or no bar of Next:\n%s", picture)
	}
}

// lap returns a lap with a time per ID.
func lap(ns, cpus float64) load.Lap {
	return load.Lap{IDs: 100, Wall: time.Duration(100 * ns), CPU: time.Duration(100 * ns * cpus)}
}

func TestBarsHoldUpToTheirRatio(t *testing.T) {
	c := comparison{Facts: report.Facts{GOMAXPROCS: 1}}
	for name, ns := range map[string]float64{
		contestants.Next: 11, contestants.Wuid: 10, contestants.Fill: 16, contestants.FilledSlice: 10, contestants.Defaultgen: 10, contestants.BwmarrinWide: 10,
	} {
		c.results = append(c.results, &event{contestants.Contestant{Name: name}, 1, []load.Lap{lap(ns, 1)}})
	}
	for i, want := range [][]string{
		{"Next on 1 goroutine ÷ edwingeng/wuid", "1.10", "1.10", "yes"},
		{"Fill of 256 on 1 goroutine ÷ plain loop over 256", "1.50", "1.60", "no"},
		{"defaultgen, 20 sequence bits on 1 goroutine ÷ bwmarrin/snowflake, 20 step bits", "1.00", "1.00", "yes"},
	} {
		if got := c.bars().Rows[i]; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestFiguresAreMediansAndRatiosOfTheSameRound(t *testing.T) {
	next, add := contestants.Contestant{Name: "Next"}, contestants.Contestant{Name: contestants.AtomicAdd}
	all := results{
		{next, 1, []load.Lap{lap(12, 1), lap(6, 1), lap(9, 1)}},
		{contestants.Contestant{Name: "capped", PerSecond: 1}, 1, nil},
		{add, 1, []load.Lap{lap(8, 1), lap(5, 0.5), lap(5, 0.5)}},
	}
	for i, want := range [][3]float64{{9, 1.5, 1}, {}, {5, 1, 0.5}} { // rounds of Next: 12/8, 6/5, 9/5 of an add
		if got := [3]float64{all[i].ns(), all.timesAdd(all[i]), all[i].cpus()}; got != want {
			t.Errorf("event %d: time, ratio and CPUs %v, want %v", i, got, want)
		}
	}
	for ahead, want := range map[string]string{"none": "1.50", contestants.Waits: "capped"} { // by the format
		all[0].PerSecond, all[0].Ahead = 1, ahead
		if got := (&comparison{Facts: report.Facts{GOMAXPROCS: 1}, results: all}).speeds("").Rows[0][2]; got != want {
			t.Errorf("time ahead %q: ratio %q, want %q", ahead, got, want)
		}
	}
	want := "Other programs used the machine: the atomic add on 1 goroutine had 0.5 of 1 CPUs. Times are too long, and ratios unsure."
	if got := all.starved(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	all[2].laps = []load.Lap{lap(5, 0.9)}
	if got := all.starved(); got != "" {
		t.Errorf("%q, want no warning", got)
	}
}
