package cached_test

import (
	"context"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/testkit/fakeassigner"
)

// TestAFenceIsRaisedBeforeItIsReached: with a store that answers, a window of 30 units is never
// felt, whether the generator is idle, keeps pace with the clock or runs far ahead of it.
func TestAFenceIsRaisedBeforeItIsReached(t *testing.T) {
	for name, load := range map[string]struct {
		ids   int // at a time, of 16 a unit
		pause time.Duration
	}{
		"one an hour":         {1, time.Hour},
		"one every 50 s":      {1, 50 * time.Second},
		"the pace of clock":   {16, time.Second},
		"ten times the clock": {160, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
				const window = 30
				store := &fakeassigner.Assigner{
					OnAssign: fenced(window + 8),
					OnRenew: func(_ context.Context, g *assigner.Grant, _, want int64) error {
						g.Limit = max(g.Limit, want+window)
						return nil
					},
				}
				g := inBubble(t, cached.Config{Assigner: store, OnEmpty: policy})
				for range 50 {
					for range load.ids {
						if _, err := g.NextContext(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					time.Sleep(load.pause)
					if _, err := g.Next(); err != nil {
						t.Fatalf("after a pause: %v", err)
					}
				}
				if s := g.Stats(); s.Window <= 0 || s.Window > (window+8)*time.Second*2 {
					t.Errorf("Window = %v, want about %d s", s.Window, window)
				}
			})
		})
	}
}
