package assignertest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
)

// A namespace is the store under test of a storeCase.
type namespace struct {
	StoreFixture
	lossy bool
}

const (
	// lossyWindow is the window of leases on a lossy store. A claim takes lossyWindow and
	// clockBound. A lease ends a window after its last renewal, so a busy machine may delay a case
	// by at most that.
	lossyWindow = 4 * time.Second
	// clockBound is the MaxSkew of cases that wait for a quarantine.
	clockBound = time.Second
	// quickWindow is the window of cases in which a lease expires, in units of quickDomain.
	quickWindow = 250 * time.Millisecond
)

// quickDomain is a domain with units of a millisecond.
func quickDomain(t *testing.T) assigner.Domain {
	d := Domain()
	d.Layout = bitsalloc.Snowflake()
	return withClock(t, d)
}

func (n namespace) config() assigner.LeaseConfig {
	if n.lossy {
		return assigner.LeaseConfig{Window: lossyWindow, MaxSkew: clockBound}
	}
	return assigner.LeaseConfig{}
}

// owned returns config with an owner.
func (n namespace) owned(owner string) assigner.LeaseConfig {
	cfg := n.config()
	cfg.Owner = owner
	return cfg
}

func (n namespace) leased() assigner.Assigner { return assigner.Leased(n.Handle(), n.config()) }

func (n namespace) auto() assigner.Assigner { return assigner.Auto(n.Handle(), n.config()) }

func (n namespace) fenced(workerID int64, owner string) assigner.Assigner {
	return assigner.Fenced(n.Handle(), assigner.Static(workerID), owner, n.config())
}

// kinds returns an assigner of each kind.
func (n namespace) kinds() []assigner.Assigner {
	return []assigner.Assigner{n.leased(), n.auto(), n.fenced(7, "x")}
}

// row returns the row of a lease.
func (n namespace) row(t *testing.T, l assigner.Lease) leasestore.Row {
	t.Helper()
	return load(t, n.Handle(), l.Grant().WorkerID)
}

// expire makes the row of a lease expire.
func (n namespace) expire(t *testing.T, l assigner.Lease) {
	t.Helper()
	row := n.row(t, l)
	if !swap(t, n.Handle(), row, row, 0) {
		t.Fatalf("row %d has changed", row.WorkerID)
	}
}

// raise renews a lease until its limit is higher than it was: by 50 at once or, on a lossy store,
// as soon as the clock allows.
func (n namespace) raise(t *testing.T, l assigner.Lease) {
	t.Helper()
	before := l.Grant().Limit
	want := before + 50
	if n.lossy {
		want = before + 1
	}
	ctx, cancel := bounded(t)
	defer cancel()
	for {
		if err := l.Renew(ctx, before, want); err != nil {
			t.Fatalf("Renew: %v", err)
		}
		limit := l.Grant().Limit
		if limit >= want {
			return
		}
		if !n.lossy {
			t.Fatalf("limit %d after Renew, was %d, wanted %d", limit, before, want)
		}
		if !pause(ctx, 50*time.Millisecond) {
			t.Fatalf("limit %d for %v, was %d", limit, patience, before)
		}
	}
}

// down takes the store down until up is called, or the test ends.
func (n namespace) down(t *testing.T) (up func()) {
	t.Helper()
	up = sync.OnceFunc(n.Down(t))
	t.Cleanup(up)
	return up
}

// wantAbove checks that two leases have the same worker ID, and that the second starts above the
// first.
func wantAbove(t *testing.T, from, to assigner.Grant) {
	t.Helper()
	if to.WorkerID != from.WorkerID || to.First <= from.Limit || to.Limit < to.First {
		t.Errorf("grant %+v after %+v, want the same worker and deltas above its limit", to, from)
	}
}

// wantLost checks that a renewal returns an error, returns it again, and leaves the grant
// unchanged.
func wantLost(t *testing.T, l assigner.Lease, reasons ...error) {
	t.Helper()
	before := l.Grant()
	for range 2 {
		ctx, cancel := bounded(t)
		err := l.Renew(ctx, before.Limit, before.Limit+1)
		cancel()
		for _, reason := range append(reasons, assigner.ErrWorkerRowLost) {
			if !errors.Is(err, reason) {
				t.Errorf("Renew: %v, want %v", err, reason)
			}
		}
	}
	if after := l.Grant(); after != before {
		t.Errorf("grant %+v, was %+v", after, before)
	}
}

// settle calls Assign, and again after a quarantine. While it waits it keeps calling meanwhile, if
// not nil.
func settle(ctx context.Context, a assigner.Assigner, d assigner.Domain, meanwhile func()) (assigner.Lease, error) {
	for {
		l, err := a.Assign(ctx, d)
		held, ok := errors.AsType[*assigner.QuarantineError](err)
		if !ok {
			return l, err
		}
		for end := time.Now().Add(held.Remaining); time.Now().Before(end); {
			if !pause(ctx, min(time.Until(end), lossyWindow/8)) {
				return nil, errors.Join(err, ctx.Err())
			}
			if meanwhile != nil {
				meanwhile()
			}
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
