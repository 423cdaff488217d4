package cached_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/fakeassigner"
)

// TestSteppedClockChangesNothing steps the wall clock after New. IDs go on with the time that has
// gone by. A new worker ID makes the generator follow a step ahead, but no step back.
func TestSteppedClockChangesNothing(t *testing.T) {
	for _, row := range []struct{ step, followed time.Duration }{{-time.Hour, 0}, {time.Hour, time.Hour}} {
		synctest.Test(t, func(t *testing.T) {
			var offset, off time.Duration
			now := func() time.Time { return time.Now().Add(offset).Round(0) }
			g := inBubble(t, cached.Config{Now: now, MaxAhead: 10 * time.Second, Assigner: &fakeassigner.Assigner{OnAssign: fresh}})
			last := next(t, g).ID
			offset = row.step
			if got := g.Stats().Ahead; got != 8*time.Second-row.step {
				t.Errorf("Stats().Ahead = %v, want the distance to the stepped clock", got)
			}
			for i := range 200 {
				if i == 100 {
					g.Invalidate()
					off = row.followed
				}
				time.Sleep(30 * time.Second)
				synctest.Wait()
				f := next(t, g)
				if off := (time.Until(f.Time) - off).Abs(); f.ID <= last || off > time.Minute {
					t.Fatalf("%v after %d, %v off the clock as it went on", f, last, off)
				}
				last = f.ID
			}
		})
	}
}
