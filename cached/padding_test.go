package cached_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/testkit"
)

// A block has 16 IDs. The taker after the last of a block begins the next one.
func TestPaddingFactorDecidesWhenToPad(t *testing.T) {
	for _, row := range []struct{ boost, factor, takes int }{
		{3, 0, 4*16 + 1}, // the default, 50
		{3, 1, 7*16 + 1}, // below a block: one block left is reason enough
		{3, 12, 7*16 + 1},
		{3, 25, 6*16 + 1},
		{3, 87, 2*16 + 1},
		{3, 88, 1*16 + 1},
		{7, 0, 64*16 + 1},
	} {
		testkit.Bubble(t, fmt.Sprintf("%d slots, %d %%", 1<<row.boost, row.factor), func(t *testing.T) {
			g := inBubble(t, cached.Config{BoostPower: row.boost, PaddingFactor: row.factor, MaxStaleness: -1})
			takes := 0
			for g.Stats().PaddingPasses == 1 { // the pass of New
				next(t, g)
				synctest.Wait()
				takes++
			}
			if got := g.Stats().Remaining; takes != row.takes || got != 16<<row.boost-1 {
				t.Fatalf("padded after %d takes, to %d IDs, want %d takes and a full ring but for an ID", takes, got, row.takes)
			}
		})
	}
}

// A caller that has found the ring empty tries again if another caller has put a block meanwhile.
func TestCallerDoesNotPadARingThatIsNotEmpty(t *testing.T) {
	eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
		g := inBubble(t, cached.Config{OnEmpty: policy, MaxStaleness: -1})
		take(t, g, 3*16+1) // three slots are free
		before := g.Stats()
		if err := g.Refill(); err != nil || g.Stats() != before {
			t.Errorf("%v, %+v after %+v, want no change", err, g.Stats(), before)
		}
	})
}

// A caller that finds the ring empty wakes the padding goroutine, since the taker that should have
// done so may be held up.
func TestEmptyRingIsPaddedBesideATakerThatIsHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := inBubble(t, cached.Config{PaddingFactor: 1, OnEmpty: cached.Reject, MaxStaleness: -1})
		take(t, g, 7*16)
		g.BeginBlock()
		take(t, g, 16)
		if _, err := g.Next(); !errors.Is(err, cached.ErrEmpty) {
			t.Errorf("Next = %v, want ErrEmpty", err)
		}
		synctest.Wait()
		next(t, g)
	})
}

func TestScheduleIntervalPadsWithoutTakers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := inBubble(t, cached.Config{PaddingFactor: 1, ScheduleInterval: 10 * time.Second, MaxStaleness: -1})
		take(t, g, 3*16+1) // three blocks are used up, and more are left than the threshold
		for want, wait := range []time.Duration{10*time.Second - 1, 1} {
			time.Sleep(wait)
			synctest.Wait()
			if got := g.Stats().PaddingPasses; got != int64(1+want) {
				t.Errorf("%d padding passes, want %d", got, 1+want)
			}
		}
	})
}
