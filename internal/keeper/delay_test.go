package keeper

import (
	"testing"
	"time"
)

func TestDelayGrowsAndIsSpread(t *testing.T) {
	for _, row := range []struct{ last, least, most time.Duration }{
		{0, 50 * time.Millisecond, 100 * time.Millisecond},
		{50 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond},
		{time.Second, time.Second, 2 * time.Second},
		{5 * time.Second, 5 * time.Second, 10 * time.Second},
		{10 * time.Second, 5 * time.Second, 10 * time.Second},
	} {
		seen := make(map[time.Duration]bool)
		for range 100 {
			d := nextDelay(row.last)
			if d < row.least || d >= row.most {
				t.Fatalf("nextDelay(%v) = %v, want from %v to below %v", row.last, d, row.least, row.most)
			}
			seen[d] = true
		}
		if len(seen) < 50 {
			t.Errorf("nextDelay(%v): %d values in 100, want them spread", row.last, len(seen))
		}
	}
}
