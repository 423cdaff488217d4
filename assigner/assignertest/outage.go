package assignertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
)

// outageCases are cases with stores that are unreachable or lose rows.
func outageCases() []storeCase {
	return []storeCase{
		{"StoreDownAtStartIsAnError", downAtStart},
		{"OutageWithinTheWindowIsBridged", func(t *testing.T, n namespace) {
			cfg := n.config()
			if n.lossy {
				cfg.Window = 5 * time.Second // time enough to restart a server
			}
			downDuring(t, n, cfg, 0)
		}},
		{"OutageBeyondTheLeaseCostsNoRowUnlessLossy", func(t *testing.T, n namespace) {
			cfg := n.config()
			if !n.lossy {
				cfg.Window = quickWindow
			}
			downDuring(t, n, cfg, 2*cfg.Window)
		}},
		{"DeletedRowEndsItsLease", deletedLease},
		{"RecreatedNamespaceEndsItsLeases", recreated},
		{"RecoveryRaisesWhatARestoreLost", recovered},
	}
}

const (
	// outage is the deadline of a call while the store is down.
	outage = 300 * time.Millisecond
	// outageSlack is how much later the call may return, on a busy machine.
	outageSlack = time.Minute
)

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

// insist retries f until it succeeds, and ends the test if it does not.
func insist(t *testing.T, what string, f func(context.Context) error) {
	t.Helper()
	if err := retry(t, f); err != nil {
		t.Fatalf("%s after the outage: %v", what, err)
	}
}

// retry calls f until it succeeds, as a generator does: a connection that an outage has cut fails
// once more. It gives up when the lease has ended.
func retry(t *testing.T, f func(context.Context) error) error {
	ctx, cancel := bounded(t)
	defer cancel()
	for {
		err := f(ctx)
		if err == nil || errors.Is(err, assigner.ErrWorkerRowLost) || !pause(ctx, 20*time.Millisecond) {
			return err
		}
	}
}

func downAtStart(t *testing.T, n namespace) {
	kinds := n.kinds()
	up := n.down(t)
	for _, a := range kinds {
		err := failsSoon(t, "Assign", func(ctx context.Context) error {
			l, err := a.Assign(ctx, Domain())
			if l != nil {
				t.Errorf("Assign returned a lease, grant %+v", l.Grant())
			}
			return err
		})
		if errors.Is(err, assigner.ErrQuarantined) {
			t.Errorf("Assign took a row while the store was down: %v", err)
		}
	}
	up()
	var l assigner.Lease
	insist(t, "Assign", func(ctx context.Context) (err error) {
		l, err = settle(ctx, kinds[0], Domain(), nil)
		return err
	})
	if row := n.row(t, l); row.Fence != l.Grant().Limit {
		t.Errorf("row %+v does not say what the grant says: %+v", row, l.Grant())
	}
}

// downDuring checks a lease over an outage of the store. An expired lease with a fence survives
// until another holder takes the row.
func downDuring(t *testing.T, n namespace, cfg assigner.LeaseConfig, lasts time.Duration) {
	t.Helper()
	d := Domain()
	if lasts > 0 {
		d = quickDomain(t)
	}
	l := assignIn(t, assigner.Leased(n.Handle(), cfg), d)
	before, row := l.Grant(), n.row(t, l)
	renew := func(ctx context.Context) error { return l.Renew(ctx, before.First, before.Limit+2) }
	up := n.down(t)
	for range 2 {
		if err := failsSoon(t, "Renew", renew); errors.Is(err, assigner.ErrWorkerRowLost) || l.Grant() != before {
			t.Errorf("Renew: %v, want an error that does not end the lease; grant %+v, was %+v", err, l.Grant(), before)
		}
	}
	pause(t.Context(), lasts)
	up()
	if lasts > 0 {
		insist(t, "Status", func(ctx context.Context) error {
			st, err := n.Handle().Status(ctx)
			if err == nil && st.Now.Before(row.Expires) { // the clock may tell whole seconds only
				err = fmt.Errorf("the store's clock is at %v, the row expires at %v; want it to be over", st.Now, row.Expires)
			}
			return err
		})
		if n.lossy {
			wantLost(t, l)
			return
		}
	}
	insist(t, "Renew", renew)
	after, found := l.Grant(), n.row(t, l)
	if after.Limit < before.Limit || !n.lossy && after.Limit < before.Limit+2 {
		t.Errorf("limit %d after the outage, was %d", after.Limit, before.Limit)
	}
	if found.Fence != after.Limit || found.Version != row.Version || found.Token != row.Token {
		t.Errorf("row %+v after the outage, was %+v; limit %d", found, row, after.Limit)
	}
	if before.Limit = after.Limit; after != before {
		t.Errorf("grant %+v after the outage, want %+v: nothing but the limit changes", after, before)
	}
}

func deletedLease(t *testing.T, n namespace) {
	a := n.leased()
	kept := assign(t, a)
	lost := assign(t, a, kept)
	worker := lost.Grant().WorkerID
	n.Delete(t, worker)
	wantLost(t, lost, leasestore.ErrRowMissing)
	release(t, lost)
	if row := load(t, n.Handle(), worker); row != (leasestore.Row{}) {
		t.Errorf("row %+v was made anew, without its fence", row)
	}
	if next := assign(t, n.leased(), kept).Grant(); next.WorkerID == worker {
		t.Errorf("grant %+v of a worker whose fence is lost", next)
	}
	wantRenewed(t, kept)
}

func recreated(t *testing.T, n namespace) {
	a := n.leased()
	first := assign(t, a)
	second := assign(t, a, first)
	n.Clear(t)
	wantLost(t, second, assigner.ErrNamespaceRecreated)
	if rows, meta := list(t, n.Handle()), loadMeta(t, n.Handle()); len(rows) > 0 || meta != (leasestore.Meta{}) {
		t.Errorf("rows %+v and meta %+v were made anew", rows, meta)
	}
	stranger := assign(t, n.leased())
	if w := stranger.Grant().WorkerID; w != first.Grant().WorkerID {
		t.Fatalf("first worker %d of the new namespace, want %d", w, first.Grant().WorkerID)
	}
	wantLost(t, first)
	if n.lossy {
		wantLost(t, second) // it has expired as well
	} else {
		wantLost(t, second, assigner.ErrNamespaceRecreated)
	}
	release(t, first)
	wantRenewed(t, stranger)
}

// recovered resets the store to a backup made before the second lease, and calls Recover.
func recovered(t *testing.T, n namespace) {
	s, a := n.Handle(), n.leased()
	old := assign(t, a)
	earlier, meta := n.row(t, old), loadMeta(t, s)
	late := assign(t, a, old)
	n.raise(t, old)
	n.raise(t, late)
	if !swap(t, s, n.row(t, old), earlier, time.Hour) || !swapMeta(t, s, loadMeta(t, s), meta) {
		t.Fatal("the rows were not put back")
	}
	n.Delete(t, late.Grant().WorkerID)

	ctx, cancel := bounded(t)
	defer cancel()
	err := leasestore.Recover(ctx, s, time.Hour)
	if n.lossy {
		if err == nil {
			t.Error("Recover of a lossy store, want an error: it has the quarantine")
		}
		return
	}
	if err != nil {
		t.Fatalf("Recover: %v", err)
	}
	wantLost(t, old)
	wantLost(t, late)
	fence := loadMeta(t, s).Fence
	first := assign(t, n.leased())
	second := assign(t, n.leased(), first)
	if first.Grant().WorkerID != old.Grant().WorkerID {
		first, second = second, first
	}
	wantAbove(t, old.Grant(), first.Grant())
	wantAbove(t, late.Grant(), second.Grant())
	for _, g := range []assigner.Grant{first.Grant(), second.Grant()} {
		if hour := Domain().Now() + 3600 - 60; g.First < hour {
			t.Errorf("grant %+v after a recovery that is an hour ahead, want it above %d", g, hour)
		}
	}
	if g := second.Grant(); g.First <= fence {
		t.Errorf("grant %+v of a worker whose row was lost, want it above the fence of the namespace, %d", g, fence)
	}
}
