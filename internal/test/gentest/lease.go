package gentest

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/testkit"
)

// heartbeat is the time between two renewals when nothing else calls for one.
const heartbeat = 45 * time.Second

// preparation has IDs prepared, which may be of the lease that ends: Invalidate and the keeper's
// hook wait. It runs in real time, since a goroutine at a mutex stops a bubble's clock.
func (s *suite) preparation(t *testing.T) {
	for name, call := range map[string]func(Generator){"Invalidate": Generator.Invalidate, "Used": s.Used} {
		g := s.open(t, keeper.Settings{Now: func() time.Time { return Start }})
		unlock := s.Lock(g)
		ended := make(chan struct{})
		go func() {
			call(g)
			close(ended)
		}()
		testkit.Pause(t.Context(), 2*time.Millisecond)
		select {
		case <-ended:
			t.Errorf("%s has returned while IDs are prepared", name)
		default:
		}
		unlock()
		<-ended
	}
}

// changeUnderLoad has 64 goroutines take IDs while every renewal finds the worker ID lost: leases
// without a fence at a heartbeat, fenced ones whenever the limit is reached.
func (s *suite) changeUnderLoad(t *testing.T) {
	for name, assign := range map[string]fakeassigner.AssignFunc{"unfenced": fakeassigner.Fresh, "fenced": fakeassigner.Fenced(2000)} {
		testkit.Bubble(t, name, func(t *testing.T) {
			store := &fakeassigner.Assigner{OnAssign: func(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
				g, err := assign(ctx, nth, d)
				g.WorkerID = 1001 - int64(nth%1000) // a smaller one makes it hard to keep IDs increasing
				return g, err
			}, OnRenew: func(context.Context, *assigner.Grant, int64, int64) error {
				runtime.Gosched()
				return assigner.ErrWorkerRowLost
			}}
			g := s.open(t, keeper.Settings{Assigner: store, Layout: bitsalloc.Snowflake()})
			var taken idset.Ledger
			var loss generator.Notifier
			testkit.Together(64, func(i int) {
				for range 20 {
					for range 20 {
						if err := taken.Next(t, func() (int64, error) { return g.NextContext(t.Context()) }); err != nil {
							t.Error(err)
						}
					}
					// All go on at the moment of the next loss. One timer wakes them: in Go 1.26 the timers
					// of a bubble share a context of the race detector, and two that fire at once may crash it.
					if i == 0 {
						time.Sleep(heartbeat - time.Since(Start)%heartbeat)
						loss.Wake()
					} else {
						<-loss.Wait()
					}
				}
			})
			if n := store.Assigns.Load(); n < 10 {
				t.Errorf("%d worker IDs, want many", n)
			}
		})
	}
}
