package defaultgen_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/gentest"
	"github.com/uidring/uidring/internal/testkit/fakeassigner"
)

// A store that ignores its context delays Close, but no caller that waits for an ID.
func TestWaitersDoNotSpinWhileCloseWaitsForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		store := &fakeassigner.Assigner{OnAssign: fakeassigner.Fresh, OnRenew: func(context.Context, *assigner.Grant, int64, int64) error {
			<-answer
			return nil
		}}
		g := open(t, defaultgen.Config{Layout: narrow(minute), Assigner: store})
		fill(t, g, 16)
		time.Sleep(heartbeat + time.Second)
		woken := make(chan error, 1)
		go func() {
			_, err := g.NextContext(t.Context())
			woken <- err
		}()
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- g.Close() }()
		if d := gentest.Elapsed(func() {
			if err := <-woken; !errors.Is(err, defaultgen.ErrClosed) {
				t.Errorf("NextContext: %v, want ErrClosed", err)
			}
		}); d != 0 {
			t.Errorf("NextContext came back after %v", d)
		}
		close(answer)
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}
