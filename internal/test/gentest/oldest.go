package gentest

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/test/fakeassigner"
)

// oldestDelta has a generator report the oldest delta that it may still use every 10 s. It issues
// no ID below that, and an idle generator keeps up with the clock.
func (s *suite) oldestDelta(t *testing.T) {
	store := &fakeassigner.Assigner{OnAssign: fakeassigner.Fenced(1000), Within: 10 * time.Second,
		OnRenew: func(ctx context.Context, g *assigner.Grant, used, want int64) error {
			return fakeassigner.Raise(ctx, g, used, want+60)
		}}
	g := s.open(t, keeper.Settings{Assigner: store})
	for range 500 {
		oldest := store.Oldest.Load()
		if f := Wait(t, g); f.Delta < oldest {
			t.Fatalf("%v after the report that no ID is below delta %d", f, oldest)
		}
		time.Sleep(rand.N(8 * time.Second))
	}
	time.Sleep(time.Minute)
	idle := store.Oldest.Load()
	if f := Wait(t, g); time.Duration(f.Delta-idle)*time.Second > 10*time.Second+2*s.Off+4*time.Second || f.Delta < idle {
		t.Errorf("%v, delta %d, while the oldest delta is %d, want it at most a renewal and %v older", f, f.Delta, idle, 2*s.Off)
	}
}
