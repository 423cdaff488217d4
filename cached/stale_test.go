package cached_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/testkit/bubble"
)

// TestNoIDIsStalerThanMaxStaleness takes IDs through hours at rates from one in 20 minutes up.
func TestNoIDIsStalerThanMaxStaleness(t *testing.T) {
	milli := bitsalloc.Layout{DeltaBits: 41, WorkerBits: 17, SequenceBits: 4, Unit: time.Millisecond}
	for _, row := range []struct {
		name   string
		layout bitsalloc.Layout
		bound  time.Duration // as given
		want   time.Duration
		every  time.Duration
		hours  time.Duration
	}{
		{"default, idle", narrow(), 0, time.Minute, 20*time.Minute + 300*time.Millisecond, 24},
		{"default, slow", narrow(), 0, time.Minute, 7*time.Second + 100*time.Millisecond, 3},
		{"default, a block a minute", narrow(), 0, time.Minute, 3700 * time.Millisecond, 3},
		{"default, quicker than the clock", narrow(), 0, time.Minute, 50 * time.Millisecond, 1},
		{"ten seconds", narrow(), 10 * time.Second, 10 * time.Second, 1700 * time.Millisecond, 2},
		{"two units", narrow(), 2 * time.Second, 2 * time.Second, 333 * time.Millisecond, 1},
		{"milliseconds", milli, 2 * time.Second, 2 * time.Second, 777 * time.Millisecond, 1},
	} {
		bubble.Run(t, row.name, func(t *testing.T) {
			put := int64(0)
			g := inBubble(t, cached.Config{Layout: row.layout, MaxStaleness: row.bound, Trace: cached.Trace{
				Padded: func(p cached.PaddedInfo) { put += int64(p.Blocks) * 16 },
			}})
			issued, last := int64(0), int64(0)
			for end := time.Now().Add(row.hours * time.Hour); time.Now().Before(end); time.Sleep(row.every) {
				f := next(t, g)
				issued++
				if behind := time.Since(f.Time); behind > row.want {
					t.Fatalf("at %v: %v lies %v behind, allowed: %v", time.Now(), f, behind, row.want)
				}
				if f.ID <= last {
					t.Fatalf("%d after %d", f.ID, last)
				}
				last = f.ID
			}
			synctest.Wait()
			checkSum(t, g.Stats(), put, issued)
		})
	}
}

func TestStaleBlocksAreCountedAsRetired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := inBubble(t, cached.Config{})
		take(t, g, 20) // a block and four IDs
		if got := g.Stats().Retired; got != 0 {
			t.Fatalf("Retired = %d at once", got)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		s := g.Stats()
		if s.Retired == 0 || s.Remaining != 8*16-4 { // the oldest begins with sequence number 4
			t.Errorf("Retired %d, Remaining %d, want more than 0 and 124", s.Retired, s.Remaining)
		}
		if s.Ahead < -time.Minute || s.Ahead > 8*time.Second {
			t.Errorf("the newest block lies %v ahead", s.Ahead)
		}
	})
}

func TestNegativeMaxStalenessKeepsEveryBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := inBubble(t, cached.Config{MaxStaleness: -1})
		time.Sleep(24 * time.Hour)
		if f := next(t, g); f.Delta != bubbleStart+1 || f.Sequence != 0 {
			t.Errorf("the first ID after a day is %v, want the first that was put", f)
		}
		take(t, g, 40*16) // more than the ring has
		if s := g.Stats(); s.Retired != 0 || s.LastDelta > bubbleStart+60 {
			t.Errorf("Retired %d, LastDelta %d, want no block dropped and no unit skipped", s.Retired, s.LastDelta)
		}
	})
}

// A block within the units stays within MaxStaleness for a quarter of it, until the next check.
func TestUnitsOfMaxStaleness(t *testing.T) {
	for _, row := range []struct {
		maxStaleness, unit time.Duration
		want               int64
	}{
		{-1, time.Second, -1},
		{1, time.Second, 0},
		{time.Second, time.Second, 0},
		{4 * time.Second, time.Second, 2},
		{time.Minute, time.Second, 44},
		{time.Minute, time.Millisecond, 44_999},
		{time.Hour, time.Minute, 44},
	} {
		if got := cached.StaleUnits(row.maxStaleness, row.unit); got != row.want {
			t.Errorf("MaxStaleness %v is %d units of %v, want %d", row.maxStaleness, got, row.unit, row.want)
		}
	}
}
