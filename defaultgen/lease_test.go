package defaultgen_test

import (
	"context"
	"errors"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/gentest"
)

// The keeper may ask for the oldest delta while Invalidate takes the lease.
func TestOldestDeltaWithoutALease(t *testing.T) {
	store := &fakeassigner.Assigner{OnAssign: func(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
		if nth > 1 {
			return assigner.Grant{}, errors.New("no answer")
		}
		return fakeassigner.Fenced(1000)(ctx, nth, d)
	}}
	g := open(t, defaultgen.Config{Assigner: store})
	last := gentest.Next(t, g)
	g.Invalidate()
	if got := g.Oldest(); got != last.Delta {
		t.Errorf("the oldest delta is %d after %v", got, last)
	}
}
