package httpapi

import (
	"math"
	"strings"
	"testing"
)

func TestSettingsReportAllMistakesAtOnce(t *testing.T) {
	settings := Settings{AllowedHosts: []string{"http://ids"}, Rate: -1, Burst: -2, AccessLog: 2}
	want := `allowed-host "http://ids", allowed: names of hosts without scheme and port, or * for any
rate -1, allowed: 0 (no limit) to 2147483647
burst -2, allowed: 0 (the default) or more
access-log 2, allowed: 0 (none) to 1 (all)`
	if err := settings.Check(); err == nil || err.Error() != want {
		t.Errorf("Check:\n%v\nwant:\n%s", err, want)
	}
	for name, ok := range map[string]bool{
		"ids": true, "ids.example.com": true, "my_host-1": true, "*": true,
		"": false, "http://ids": false, "ids:80": false, "*.example.com": false, ".ids": false, "a b": false,
	} {
		settings := Settings{AllowedHosts: []string{"good", name}}
		if err := settings.Check(); (err == nil) != ok {
			t.Errorf("%q: %v, want allowed: %v", name, err, ok)
		}
	}
	for _, rate := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxInt32 + 1} {
		settings := Settings{Rate: rate}
		if err := settings.Check(); err == nil || !strings.Contains(err.Error(), "rate ") {
			t.Errorf("rate %v: %v, want a mistake", rate, err)
		}
	}
}

// TestARateBoundsBurstAndBatch: without a burst of its own, a rate admits the IDs of a second.
func TestARateBoundsBurstAndBatch(t *testing.T) {
	for _, c := range []struct {
		cfg          Config
		burst, batch int
	}{
		{Config{}, 0, 100_000},
		{Config{Settings: Settings{Rate: 100}}, 100, 100},
		{Config{Settings: Settings{Rate: 0.001}}, 1, 1},
		{Config{Settings: Settings{Rate: 2.5}}, 3, 3},
		{Config{Settings: Settings{Rate: 100, Burst: 1000}}, 1000, 1000},
		{Config{Settings: Settings{Rate: 100, Burst: 1_000_000}}, 1_000_000, 100_000},
	} {
		if s := newServer(t, c.cfg); s.cfg.Burst != c.burst || s.batch != c.batch {
			t.Errorf("Rate %v, Burst %d: a burst of %d and batches of %d, want %d and %d",
				c.cfg.Rate, c.cfg.Burst, s.cfg.Burst, s.batch, c.burst, c.batch)
		}
	}
}
