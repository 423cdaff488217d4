package cached_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/testkit/fakeassigner"
)

// TestCloseWakesWaitersBeforeTheStoreAnswers: shutting down while the store is out of reach is the
// usual case.
func TestCloseWakesWaitersBeforeTheStoreAnswers(t *testing.T) {
	eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
		s := &fakeassigner.Assigner{OnAssign: fresh, OnRelease: func(ctx context.Context, _ assigner.Grant, _ int64) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		g, err := cached.New(cached.Config{Assigner: s, Layout: narrow(), Epoch: bubbleEpoch(), BoostPower: 1,
			MaxAhead: time.Second, OnEmpty: policy, MaxStaleness: -1})
		if err != nil {
			t.Fatal(err)
		}
		drain(t, g)
		start := time.Now()
		waited := make(chan time.Duration, 1)
		go func() {
			if _, err := g.NextContext(t.Context()); !errors.Is(err, cached.ErrClosed) {
				t.Errorf("NextContext = %v, want ErrClosed", err)
			}
			waited <- time.Since(start)
		}()
		synctest.Wait()
		if err := g.Close(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close = %v, want the release's DeadlineExceeded", err)
		}
		if d := <-waited; d != 0 {
			t.Errorf("the waiter returned after %v, want at once", d)
		}
	})
}
