package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/uidring/uidring/internal/test/testkit"
)

// A day is ordinary: processes start, end and crash. The server is killed at times, but not while a
// process starts or ends. The day counts starts, and how far their first IDs are ahead of the
// clock.
type day struct {
	*run
	random  *rand.Rand
	profile profile // of the processes that crash
	aheads  []time.Duration
	above   time.Duration // the most that a first ID was ahead of the clock and of the IDs issued before
	slowest time.Duration // of the starts
	failed  int           // starts
}

const (
	startTimeout = 30 * time.Second // the default
	fewUnits     = 3
)

// begin starts a holder, waits for its first ID, and fails the test if the start fails or takes
// longer than StartTimeout. After crashes the ID may be two windows and a second a crash ahead of
// the clock, otherwise a few units ahead of the clock or of the last ID with its worker ID.
func (d *day) begin(p profile, crashes int) *child {
	p.DSN, p.Window, p.StartTimeout = d.server.DSN(), d.profile.Window, startTimeout
	c := d.start(p)
	select {
	case f := <-c.first:
		ahead, most := min(f.Ahead, time.Duration(f.After)*layout().Unit), fewUnits*layout().Unit
		if crashes > 0 {
			ahead, most = f.Ahead, most+2*p.Window+time.Duration(crashes)*time.Second
		}
		d.aheads, d.above, d.slowest = append(d.aheads, f.Ahead), max(d.above, ahead), max(d.slowest, f.Took)
		if f.Failed > 0 || f.Took > startTimeout {
			d.failed++
			d.t.Errorf("process %d: %d calls of New failed, and its first ID took %v", c.profile.Number, f.Failed, f.Took)
		}
		if ahead > most {
			d.t.Errorf("process %d, after %d crashes: the first ID is %v ahead, want at most %v", c.profile.Number, crashes, ahead, most)
		}
	case <-time.After(2 * startTimeout):
		d.failed++
		d.t.Errorf("process %d has no ID after %v", c.profile.Number, 2*startTimeout)
	}
	return c
}

// end ends a process in order.
func (d *day) end(c *child) {
	c.end(d.t)
	d.judge.count(ended)
}

// killServer kills the server and starts it again.
func (d *day) killServer() {
	d.judge.count(deadServer)
	d.server.Kill9()
	d.server.Restart()
}

// deployments replaces a fleet several times over, one more, then one less.
func (d *day) deployments(lasts time.Duration) {
	kinds := []string{"leased", "leased", "leased", "auto", "fenced"}
	var fleet []*child
	next := func(i int) {
		rate := []int{100, 1_000, 2_500, 15_000}[d.random.IntN(4)] // the last one runs ahead of the clock
		fleet = append(fleet, d.begin(profile{Kind: kinds[i], WorkerID: workers - 1, Owner: "host", Rate: rate}, 0))
	}
	for i := range kinds {
		next(i)
	}
	for began := time.Now(); time.Since(began) < lasts; d.killServer() {
		for range 3 {
			d.judge.count(deployed)
			for i := range kinds {
				old := fleet[0]
				fleet = fleet[1:]
				if old.profile.Kind == "fenced" { // as in a StatefulSet
					d.end(old)
				}
				next(i)
				if old.profile.Kind != "fenced" {
					d.end(old)
				}
				testkit.Pause(d.t.Context(), between(d.random, 0, time.Second))
			}
		}
	}
	for _, c := range fleet {
		d.end(c)
	}
}

// crashLoops kills a process again and again, and starts it again at once. The first one lives long
// enough to renew its lease, and the last one ends in order.
func (d *day) crashLoops(lasts time.Duration) {
	for began := time.Now(); time.Since(began) < lasts; d.killServer() {
		d.judge.count(crashLoop)
		crashes := 5 + d.random.IntN(16)
		for i := range crashes + 1 {
			c := d.begin(d.profile, i)
			if i == 0 {
				testkit.Pause(d.t.Context(), d.profile.Window/2)
			}
			testkit.Pause(d.t.Context(), between(d.random, time.Second, 3*time.Second))
			if i == crashes {
				d.end(c)
			} else {
				d.judge.count(killed)
				c.kill()
			}
		}
	}
}

func (d *day) String() string {
	slices.Sort(d.aheads)
	return fmt.Sprintf("%d starts, %d failed, the slowest took %v; first IDs are %v ahead of the clock (median), at most %v, at most %v without the IDs issued before; %v",
		len(d.aheads), d.failed, d.slowest, d.aheads[len(d.aheads)/2], d.aheads[len(d.aheads)-1], d.above, d.judge)
}
