package assignertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
)

// patience bounds each call to the assigner or the store under test.
const patience = 30 * time.Second

// bounded returns a context with the deadline for a call.
func bounded(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), patience)
}

// Domain returns the domain of the suite: the default layout and epoch, datacenter 0.
func Domain() assigner.Domain {
	a, err := bitsalloc.New(bitsalloc.Default(), bitsalloc.DefaultEpoch())
	if err != nil {
		panic("bug: assignertest: " + err.Error())
	}
	return assigner.Domain{
		Layout: a.Layout(),
		Epoch:  a.Epoch(),
		Now:    func() int64 { return a.Delta(time.Now()) },
	}
}

// assign takes a worker ID, and ends the test on an error.
func assign(t *testing.T, a assigner.Assigner) assigner.Lease {
	t.Helper()
	l, err := tryAssign(t, a, Domain())
	if err != nil {
		t.Fatalf("Assign: %v", err)
	}
	return l
}

// tryAssign calls Assign and checks the rules for every result: a lease or an error, a worker ID
// within its field, and at least one delta.
func tryAssign(t *testing.T, a assigner.Assigner, d assigner.Domain) (assigner.Lease, error) {
	t.Helper()
	ctx, cancel := bounded(t)
	defer cancel()
	l, err := settle(ctx, a, d)
	if err == nil && l == nil {
		return nil, errors.New("neither a lease nor an error")
	}
	if err != nil {
		if l != nil {
			t.Errorf("Assign returned a lease and the error %v", err)
		}
		return nil, err
	}
	g := l.Grant()
	if g.WorkerID < 0 || g.WorkerID > d.MaxWorkerID() {
		t.Errorf("worker %d, want 0 to %d", g.WorkerID, d.MaxWorkerID())
	}
	if g.First < 0 || g.First > g.Limit {
		t.Errorf("grant for deltas %d to %d, want one at least", g.First, g.Limit)
	}
	return l, nil
}

// settle calls Assign, and again after a quarantine.
func settle(ctx context.Context, a assigner.Assigner, d assigner.Domain) (assigner.Lease, error) {
	for {
		l, err := a.Assign(ctx, d)
		held, ok := err.(interface{ RetryAfter() time.Duration })
		if !ok || !errors.Is(err, assigner.ErrQuarantined) {
			return l, err
		}
		if !pause(ctx, held.RetryAfter()) {
			return nil, errors.Join(err, ctx.Err())
		}
	}
}

// pause waits for a time and reports true, or false when ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// renew asks for a delta more than a fence allows now. A grant without a fence has no such delta.
func renew(t *testing.T, l assigner.Lease) error {
	t.Helper()
	ctx, cancel := bounded(t)
	defer cancel()
	g := l.Grant()
	if !g.Fenced() {
		return l.Renew(ctx, g.First, g.First+1)
	}
	return l.Renew(ctx, g.Limit, g.Limit+1)
}

func wantRenewed(t *testing.T, l assigner.Lease) {
	t.Helper()
	if err := renew(t, l); err != nil {
		t.Errorf("Renew of worker %d: %v", l.Grant().WorkerID, err)
	}
}

// wantLost checks that a renewal ends the lease, returns its error again, and leaves the grant
// unchanged.
func wantLost(t *testing.T, l assigner.Lease) {
	t.Helper()
	before := l.Grant()
	for range 2 {
		if err := renew(t, l); !errors.Is(err, assigner.ErrWorkerRowLost) {
			t.Errorf("Renew: %v, want ErrWorkerRowLost", err)
		}
	}
	if after := l.Grant(); after != before {
		t.Errorf("grant %+v, was %+v", after, before)
	}
}

func release(t *testing.T, l assigner.Lease) {
	t.Helper()
	ctx, cancel := bounded(t)
	defer cancel()
	if err := l.Release(ctx, l.Grant().First); err != nil {
		t.Fatalf("Release: %v", err)
	}
}
