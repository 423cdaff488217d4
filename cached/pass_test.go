package cached_test

import (
	"slices"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/testkit/fakeassigner"
)

// TestAPassPutsABoundedNumberOfBlocks counts the blocks of each pass of New, and of the passes
// after Invalidate, which also leave the ring empty. Callers get at the mutex between two passes.
func TestAPassPutsABoundedNumberOfBlocks(t *testing.T) {
	for boost, want := range map[int][]int{
		3:  {8},
		8:  {256},
		9:  {256, 256},
		12: slices.Repeat([]int{256}, 16),
	} {
		t.Run(strconv.Itoa(1<<boost)+" slots", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var passes []int
				g := inBubble(t, cached.Config{BoostPower: boost, Assigner: &fakeassigner.Assigner{OnAssign: fresh}, MaxStaleness: -1, Trace: cached.Trace{
					Padded: func(p cached.PaddedInfo) { passes = append(passes, p.Blocks) },
				}})
				for _, end := range []func(){func() {}, g.Invalidate} {
					end()
					synctest.Wait()
					if !slices.Equal(passes, want) {
						t.Errorf("passes of %v blocks, want %v", passes, want)
					}
					if s := g.Stats(); s.Remaining != 16<<boost {
						t.Errorf("%d IDs in the ring, want %d", s.Remaining, 16<<boost)
					}
					passes = nil
				}
			})
		})
	}
}

// TestPassesOfALargeRingLetOthersIn has callers between two passes of the padding goroutine, which
// Padded holds up there: one takes an ID, and Close ends the passes.
func TestPassesOfALargeRingLetOthersIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slots = 1 << 12
		passes, gate := 0, make(chan struct{})
		g := inBubble(t, cached.Config{BoostPower: 12, Assigner: &fakeassigner.Assigner{OnAssign: fresh}, MaxStaleness: -1, Trace: cached.Trace{
			Padded: func(p cached.PaddedInfo) {
				passes++
				if p.LastDelta > bubbleStart+slots { // not by New
					<-gate
				}
			},
		}})
		g.Invalidate()
		synctest.Wait()
		passes = 0
		if f := next(t, g); f.WorkerID != g.WorkerID() {
			t.Errorf("%v, want worker %d", f, g.WorkerID())
		}
		if s := g.Stats(); s.Remaining >= slots*16/2 {
			t.Errorf("%d IDs in the ring after a pass, want a part of %d", s.Remaining, slots*16)
		}
		closed := make(chan error, 1)
		go func() { closed <- g.Close() }()
		synctest.Wait()
		close(gate)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if passes != 0 {
			t.Errorf("%d passes after Close, want none", passes)
		}
	})
}
