package cached_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/fakeassigner"
)

// The blocks that New puts do not count as use, which takes three units of ID time a second here.
func TestFirstFillOfTheRingIsNoPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := inBubble(t, cached.Config{Assigner: &fakeassigner.Assigner{OnAssign: fenced(100)}, MaxStaleness: -1})
		time.Sleep(4 * time.Second)
		for _, n := range []int{4*16 + 1, 4 * 16, 4 * 16} {
			take(t, g, n)
			synctest.Wait()
		}
		if s := g.Stats(); s.LastDelta != bubbleStart+8+12 || s.Window != 87*time.Second || s.WindowLasts.Round(time.Second) != 27*time.Second {
			t.Errorf("LastDelta %d, Window %v, WindowLasts %v, want %d, 87s, 27s", s.LastDelta, s.Window, s.WindowLasts, bubbleStart+20)
		}
	})
}
