package defaultgen_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/gentest"
)

// The clock is read once to see that the unit is used up, and once to see how long to wait. When a
// unit begins in between, that one must not be slept through.
func TestNextContextSkipsNoUnitThatBeginsWhileItLooks(t *testing.T) {
	for nth := range 2 {
		synctest.Test(t, func(t *testing.T) {
			slow := -1 // the reading that takes a while; negative: none
			cfg := complete(defaultgen.Config{Now: func() time.Time {
				t := time.Now()
				if slow == 0 {
					time.Sleep(2 * time.Millisecond)
				}
				slow--
				return t
			}})
			g := open(t, cfg)
			fill(t, g, 16)
			time.Sleep(999 * time.Millisecond)
			slow = nth
			var f bitsalloc.Fields
			if d := gentest.Elapsed(func() { f = wait(t, g) }); d != 2*time.Millisecond || !f.Time.Equal(gentest.Start.Add(time.Second)) {
				t.Errorf("NextContext took %v for an ID of %v, want 2ms and the unit that had begun", d, f.Time)
			}
		})
	}
}

// The presets give their worker exactly as many IDs as their names promise.
func TestPresetsReachTheirRateExactly(t *testing.T) {
	for _, c := range []struct {
		layout        bitsalloc.Layout
		perUnit, want int
	}{
		{bitsalloc.Snowflake(), 4096, 4096}, // a millisecond
		{bitsalloc.Default(), 8192, 8192},   // a second
		{bitsalloc.Baidu(), 8192, 8192},
		{bitsalloc.JavaScript(), 4096, 4096},
	} {
		synctest.Test(t, func(t *testing.T) {
			const units = 5
			g := open(t, defaultgen.Config{Layout: c.layout})
			perUnit := make(map[time.Duration]int)
			last := int64(0)
			took := gentest.Elapsed(func() {
				start := time.Now()
				for range units * c.want {
					id, err := g.NextContext(t.Context())
					if err != nil || id <= last {
						t.Fatalf("NextContext = %d, %v, after %d", id, err, last)
					}
					last = id
					perUnit[time.Since(start)]++
				}
			})
			if want := (units - 1) * c.layout.Unit; took != want {
				t.Errorf("%v: %d units of IDs took %v, want %v", c.layout, units, took, want)
			}
			for u := range units {
				if n := perUnit[time.Duration(u)*c.layout.Unit]; n != c.perUnit {
					t.Errorf("%v: %d IDs in unit %d, want %d", c.layout, n, u, c.perUnit)
				}
			}
			if c.layout == bitsalloc.JavaScript() && last >= 1<<53 {
				t.Errorf("ID %d does not fit a JavaScript number", last)
			}
		})
	}
}

func TestStatsTellThePositionAndTheRejections(t *testing.T) {
	var rejected []error
	g, clock := onFakeClock(t, defaultgen.Config{
		DatacenterID: 2,
		Trace:        defaultgen.Trace{TakeRejected: func(err error) { rejected = append(rejected, err) }},
	})
	if s := g.Stats(); s.LastDelta != 0 || s.WorkerID != 1 || s.DatacenterID != 2 || s.Limit != 1<<63-1 || s.Guarantee.String() != "fresh" {
		t.Errorf("Stats before the first ID: %+v", s)
	}
	fill(t, g, 16)
	clock.move(250 * time.Millisecond)
	if s := g.Stats(); s.LastDelta != 1000 || s.Ahead != -250*time.Millisecond || s.RejectedTakes != 0 || s.Expiring {
		t.Errorf("Stats: %+v, want delta 1000, 250ms behind", s)
	}
	_, err1 := g.Next()
	_, err2 := g.Fill(make([]int64, 1))
	clock.move(-time.Hour)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err3 := g.NextContext(ended)
	if s := g.Stats(); s.RejectedTakes != 3 || s.Ahead != time.Hour-250*time.Millisecond {
		t.Errorf("Stats: %+v, want 3 rejected takes, %v ahead", s, time.Hour-250*time.Millisecond)
	}
	for i, err := range []error{err1, err2, err3} {
		if len(rejected) != 3 || rejected[i] != err {
			t.Errorf("TakeRejected got %v, want %v", rejected, []error{err1, err2, err3})
		}
	}
}
