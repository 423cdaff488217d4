package assignertest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/testkit"
)

func (n namespace) leased(owner string) assigner.Assigner { return n.leasedOn(n.Handle(), owner) }

// leasedOn returns an assigner for leases of an owner. On a lossy store a claim takes the window
// and the skew, and a lease ends a window after its last renewal.
func (n namespace) leasedOn(s leasestore.Store, owner string) assigner.Assigner {
	cfg := assigner.LeaseConfig{Owner: owner}
	if n.lossy {
		cfg.Window, cfg.MaxSkew = 5*time.Second, time.Second
	}
	return assigner.Leased(s, cfg)
}

// firstStarts checks the first processes of a namespace, which compete for new worker IDs since
// there are no rows yet.
func firstStarts(t *testing.T, n namespace) {
	starts := 20
	if n.lossy {
		starts = 5 // each claim must be repeated soon after its quarantine, also on a busy machine
	}
	assignAtOnce(t, starts, func(int) assigner.Assigner { return n.leased("") })
	// A process that loses to others may create up to 128 spare rows, which must stay a small part
	// of the worker IDs.
	most := Domain().MaxWorkerID() / 16
	if next, rows := loadMeta(t, n.Handle()).NextWorkerID, list(t, n.Handle()); int64(len(rows)) != next || next > most {
		t.Errorf("%d rows, %d counted after %d starts; want as many, and %d at most", len(rows), next, starts, most)
	}
}

// nextHolders has three holders take one row: after a release, right above the last delta in use,
// and after an expiry that the holder does not notice.
func nextHolders(t *testing.T, n namespace) {
	s := n.Handle()
	first := assign(t, n.leased("first"))
	row := n.heldRow(t, first, "first")
	used := first.Grant().First + 3
	end(t, first, used)
	if free := load(t, s, row.WorkerID); free.Fence != used || free.Token != "" {
		t.Errorf("row %+v after its release, want no token and fence %d", free, used)
	}
	wantLost(t, first)
	second := assign(t, n.leased("second"))
	if g := second.Grant(); g.WorkerID != row.WorkerID || g.First <= used || g.First != used+1 && !n.lossy {
		t.Errorf("grant %+v after a release at %d, want worker %d right above", g, used, row.WorkerID)
	}
	release(t, first) // another holder has the row
	row = n.heldRow(t, second, "second")
	if !swap(t, s, row, row, 0) {
		t.Fatal("the row of a lease has changed")
	}
	third := assign(t, n.leased("third"))
	if from, to := second.Grant(), third.Grant(); to.WorkerID != from.WorkerID || to.First <= from.Last {
		t.Errorf("grant %+v after %+v, want the same worker and deltas above its limit", to, from)
	}
	wantLost(t, second)
	release(t, second)
	wantRenewed(t, third)
	n.heldRow(t, third, "third")
}

// heldRow returns the row of a lease, which must agree with the grant and the domain.
func (n namespace) heldRow(t *testing.T, l assigner.Lease, owner string) leasestore.Row {
	t.Helper()
	s, g, d := n.Handle(), l.Grant(), Domain()
	row, st, meta := load(t, s, g.WorkerID), status(t, s), loadMeta(t, s)
	if row.Fence != g.Last || row.Owner != owner || row.Token == "" || row.Identity != st.Identity || !row.Expires.After(st.Now) {
		t.Errorf("row %+v does not say what the grant says: %+v; status %+v", row, g, st)
	}
	if meta.Layout != d.Layout || !meta.Epoch.Equal(d.Epoch) || meta.DatacenterID != d.DatacenterID || meta.Namespace == "" {
		t.Errorf("meta %+v does not say what the domain says: %+v", meta, d)
	}
	return row
}

const (
	// outage is the deadline of a call while the store is down.
	outage = 300 * time.Millisecond
	// outageSlack is how much later the call may return, on a busy machine.
	outageSlack = time.Minute
)

// outageBridged checks a holder and a process that starts, while the store is down.
func outageBridged(t *testing.T, n namespace) {
	l, starts := assign(t, n.leased("holds")), n.leased("starts")
	before, row := l.Grant(), n.heldRow(t, l, "holds")
	raise := func(ctx context.Context) error {
		_, err := l.Renew(ctx, assigner.Use{Used: before.First, Want: before.Last + 2})
		return err
	}
	up := sync.OnceFunc(n.Down(t))
	t.Cleanup(up)
	if err := failsSoon(t, "Renew", raise); errors.Is(err, assigner.ErrWorkerRowLost) || l.Grant() != before {
		t.Errorf("Renew: %v, want an error that does not end the lease; grant %+v, was %+v", err, l.Grant(), before)
	}
	err := failsSoon(t, "Assign", func(ctx context.Context) error {
		_, err := starts.Assign(ctx, Domain())
		return err
	})
	if errors.Is(err, assigner.ErrQuarantined) {
		t.Errorf("Assign took a row while the store was down: %v", err)
	}
	var start sync.WaitGroup
	start.Go(func() {
		g, err := cached.New(cached.Config{Assigner: starts, StartTimeout: testkit.Patience})
		testkit.Close(t, g, err)
	})
	testkit.Pause(t.Context(), 4*time.Second) // clients wait for an answer for less
	up()
	insist(t, "Renew", raise)
	start.Wait()
	if found := n.heldRow(t, l, "holds"); found.Version != row.Version || found.Token != row.Token || found.Fence < row.Fence {
		t.Errorf("row %+v after the outage, was %+v", found, row)
	}
}

// failsSoon calls f while the store is down, and checks that it fails when its context ends, not
// much later.
func failsSoon(t *testing.T, what string, f func(context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), outage)
	defer cancel()
	begin := time.Now()
	err := f(ctx)
	if err == nil {
		t.Errorf("%s succeeded while the store was down", what)
	}
	if took := time.Since(begin); took > outage+outageSlack {
		t.Errorf("%s took %v, with a context that ends after %v", what, took, outage)
	}
	return err
}

// insist calls f until it succeeds, as a generator does: a connection that an outage has cut fails
// once more.
func insist(t *testing.T, what string, f func(context.Context) error) {
	t.Helper()
	testkit.Succeeds(t, what+" after the outage", func() error {
		ctx, cancel := bounded(t)
		defer cancel()
		return f(ctx)
	})
}
