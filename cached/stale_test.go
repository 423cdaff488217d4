package cached_test

import (
	"math/bits"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/testkit"
)

// TestNoIDIsStalerThanMaxStaleness takes IDs through hours at rates from one in 20 minutes up.
func TestNoIDIsStalerThanMaxStaleness(t *testing.T) {
	milli := bitsalloc.Layout{DeltaBits: 41, WorkerBits: 17, SequenceBits: 4, Unit: time.Millisecond}
	minutes := bitsalloc.Layout{DeltaBits: 28, WorkerBits: 17, SequenceBits: 4, Unit: time.Minute}
	for _, row := range []struct {
		name   string
		layout bitsalloc.Layout
		bound  time.Duration // as given
		want   time.Duration
		every  time.Duration
		hours  time.Duration
	}{
		{"default, idle", narrow(), 0, time.Minute, 20*time.Minute + 300*time.Millisecond, 24},
		{"ten seconds", narrow(), 10 * time.Second, 10 * time.Second, 1700 * time.Millisecond, 2},
		{"two units", narrow(), 2 * time.Second, 2 * time.Second, 333 * time.Millisecond, 1},
		{"default, units of a minute", minutes, 0, 2 * time.Minute, 10 * time.Second, 3},
		{"milliseconds", milli, 2 * time.Second, 2 * time.Second, 777 * time.Millisecond, 1},
	} {
		testkit.Bubble(t, row.name, func(t *testing.T) {
			put := int64(0)
			g := inBubble(t, cached.Config{Layout: row.layout, MaxStaleness: row.bound, Trace: cached.Trace{
				Padded: func(i cached.PaddedInfo) { put += int64(i.Blocks) * 16 },
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

// With a MaxStaleness of 4 s the generator checks every second, and drops blocks more than two
// units behind.
func TestBlockIsDroppedOnceItIsStale(t *testing.T) {
	for _, size := range []int{2, 16} {
		synctest.Test(t, func(t *testing.T) {
			layout := bitsalloc.Layout{DeltaBits: 28, SequenceBits: uint8(bits.Len(uint(size)) - 1)} // the last ID of a unit is next to the first of the following one
			g := inBubble(t, cached.Config{Layout: layout, Assigner: &fakeassigner.Assigner{OnAssign: anyWorker(0)}, MaxStaleness: 4 * time.Second})
			lanes := make([]*cached.Lane, 3)
			deltas := make([]int64, len(lanes))
			for i := range lanes {
				lanes[i] = g.Lane()
				deltas[i] = parse(t, g, laneNext(t, lanes[i])).Delta // of the units after the clock's
			}
			for second := range int64(5) {
				time.Sleep(time.Second)
				synctest.Wait()
				if second < 3 { // the block of the first lane is not stale yet
					continue
				}
				i := second - 3
				if f := parse(t, g, laneNext(t, lanes[i])); f.Delta == deltas[i] {
					t.Errorf("%v of a block that is stale", f)
				}
				if f := parse(t, g, laneNext(t, lanes[i+1])); f.Delta != deltas[i+1] {
					t.Errorf("%v, but the block of delta %d is not stale", f, deltas[i+1])
				}
			}
		})
	}
}
