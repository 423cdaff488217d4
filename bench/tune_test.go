package main

import (
	"encoding/xml"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bench/internal/load"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/test/testkit"
)

// Laps that overlap, or differ by less than a fifth, show no difference.
func TestTuneRecommendsOnlyMeasuredDifferences(t *testing.T) {
	zero := []float64{0, 0, 0}
	lap := func(boost int, rejected, times []float64) *setting {
		f := figures{zero, rejected, times, times, times, {float64(time.Second) * float64(int(1)<<boost)}}
		return &setting{boost: boost, padding: 50, steady: f, burst: f}
	}
	slow := []float64{90, 100, 110}
	for _, tt := range []struct {
		name     string
		settings []*setting
		want     string
	}{
		{"alike", []*setting{lap(3, zero, slow), lap(1, zero, slow)}, "Keep the defaults: "},
		{"overlap", []*setting{lap(3, zero, slow), lap(5, zero, []float64{10, 95, 105})}, "Keep the defaults: "},
		{"by a tenth", []*setting{lap(3, zero, slow), lap(5, zero, []float64{88, 89, 89})}, "Keep the defaults: "},
		{"slower", []*setting{lap(3, zero, slow), lap(1, zero, []float64{200, 210, 220})}, "Keep the defaults: "},
		{"faster", []*setting{lap(3, zero, slow), lap(5, zero, []float64{10, 20, 30})},
			"BoostPower 5, PaddingFactor 50: p99.99 in bursts: 20.0 ns (10.0 ns to 30.0 ns), 100 ns (90.0 ns to 110 ns) with the defaults. Price: an idle process is 32s ahead of the clock instead of 8s."},
		{"the smaller of two alike", []*setting{lap(3, zero, slow), lap(5, zero, []float64{10, 20, 30}), lap(8, zero, []float64{9, 19, 29})}, "BoostPower 5,"},
		{"the better of two", []*setting{lap(3, zero, slow), lap(5, zero, []float64{40, 50, 60}), lap(8, zero, []float64{9, 19, 29})}, "BoostPower 8,"},
		{"errors outweigh slow calls", []*setting{lap(3, slow, slow), lap(5, slow, []float64{1, 1, 1}), lap(8, zero, slow)}, "BoostPower 8, PaddingFactor 50: rejected takes"},
		{"errors in a lap", []*setting{lap(3, slow, slow), lap(5, []float64{0, 0, 7}, slow), lap(8, zero, slow)}, "BoostPower 8, PaddingFactor 50: rejected takes"},
		{"busy", []*setting{lap(3, zero, slow)}, "Other programs used the machine: laps at full speed had 0.5 of 2 CPUs. Differences are harder to see.\nKeep"},
		{"too narrow", []*setting{lap(3, zero, slow)}, "Choose more sequence bits: 300,000 IDs in each unit (1s) are 36.6 times 2^13, so"},
	} {
		tune := &tuning{rate: 1000, burst: burst{1, 1}, layout: bitsalloc.Default(), settings: tt.settings}
		switch tt.name {
		case "too narrow":
			tune.rate = 300_000
		case "busy":
			tune.facts.GOMAXPROCS = 2
			tune.flatOut = []*event{{goroutines: 2, laps: []load.Lap{{Wall: 2, CPU: 1}}}}
		}
		if got := tune.advice(); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestTuneRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	plot := filepath.Join(t.TempDir(), "tune.svg")
	for _, tt := range []struct{ args, want string }{
		{"-rate=1000 -burst=0 -lap=1ms", "bench tune -burst=0 -lap=1ms -rate=1000\n"},
		{"-burst=20000/1ms -layout=default -on-empty=reject -lap=1ms -plot=" + plot, "bursts of 20,000 IDs in 1ms\n"},
	} {
		r := execute(t, nil, append([]string{"tune"}, strings.Fields(tt.args)...)...)
		if r.status != 0 || r.stderr != "" { // which is no terminal
			t.Fatalf("status %d, stderr %q", r.status, r.stderr)
		}
		for _, want := range []string{tt.want, "\n8, 90 %  ", "\n3, 50 %, every 10ms  ", "\nBoostPower 8  ", "\n32 goroutines  "} {
			if !strings.Contains(r.stdout, want) {
				t.Errorf("%s: no %q in\n%s", tt.args, want, r.stdout)
			}
		}
	}
	picture := testkit.ReadFile(t, plot)
	if err := xml.Unmarshal([]byte(picture), new(struct{})); err != nil || strings.Contains(picture, "NaN") || strings.Contains(picture, "Inf") || strings.Count(picture, " rejected</text>") != 13 {
		t.Errorf("%v, want 13 bars with positions that are numbers in\n%s", err, picture)
	}
}
