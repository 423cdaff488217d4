package httpapi

import (
	"math"
	"strings"
	"testing"
)

func TestNewReportsAllMistakesAtOnce(t *testing.T) {
	_, err := New(Config{MaxBatch: -1, Rate: -1, Burst: -2, MaxConcurrent: -1})
	want := `httpapi: Generator is missing
httpapi: MaxBatch -1, allowed: 1 to 100000
httpapi: Rate -1, allowed: 0 (no limit) to 2147483647 IDs a second
httpapi: Burst -2, allowed: 0 (the default) or more
httpapi: MaxConcurrent -1, allowed: 1 or more`
	if err == nil || err.Error() != want {
		t.Errorf("New:\n%v\nwant:\n%s", err, want)
	}
}

func TestNewRefusesARateThatIsNoNumber(t *testing.T) {
	for _, rate := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxInt32 + 1} {
		_, err := New(Config{Rate: rate})
		if err == nil || !strings.Contains(err.Error(), "httpapi: Rate ") {
			t.Errorf("Rate %v: %v, want a mistake", rate, err)
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
		{Config{MaxBatch: 10}, 0, 10},
		{Config{Rate: 100}, 100, 100},
		{Config{Rate: 0.001}, 1, 1},
		{Config{Rate: 2.5}, 3, 3},
		{Config{MaxBatch: 10, Rate: 3}, 3, 3},
		{Config{MaxBatch: 10, Rate: 2000}, 2000, 10},
		{Config{MaxBatch: 10, Rate: 2000, Burst: 10}, 10, 10},
		{Config{Rate: 100, Burst: 1000}, 1000, 1000},
		{Config{Rate: 100, Burst: 1_000_000}, 1_000_000, 100_000},
	} {
		if s := newServer(t, c.cfg); s.cfg.Burst != c.burst || s.cfg.MaxBatch != c.batch {
			t.Errorf("MaxBatch %d, Rate %v, Burst %d: a burst of %d and batches of %d, want %d and %d",
				c.cfg.MaxBatch, c.cfg.Rate, c.cfg.Burst, s.cfg.Burst, s.cfg.MaxBatch, c.burst, c.batch)
		}
	}
}
