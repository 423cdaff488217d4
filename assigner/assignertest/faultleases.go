package assignertest

import (
	"context"
	"errors"
	"testing"

	"github.com/uidring/uidring/assigner"
)

// wantFence checks that a row has the fence of its lease, and has been claimed once.
func (n namespace) wantFence(t *testing.T, s assigner.Store, l assigner.Lease) {
	t.Helper()
	g := l.Grant()
	if row := load(t, s, g.WorkerID); row.Fence != g.Limit || row.Version != 1 {
		t.Errorf("row %+v, want fence %d, version 1", row, g.Limit)
	}
}

// cutLease cuts the connection of a claim, of renewals and of a release.
func cutLease(t *testing.T, l link) {
	const owner = "the-owner-whose-connection-is-cut"
	a := assigner.Leased(l.store, l.owned(owner))
	first := assign(t, l.leased()) // the namespace is there
	l.warm(t)
	changed := func(workerID int64) func() bool {
		row := load(t, l.direct, workerID)
		return func() bool { return !sameRow(load(t, l.direct, workerID), row) }
	}

	cut := l.wire.cut(t, false, owner, changed(1))
	lease := assign(t, a, first)
	if w := lease.Grant().WorkerID; w != 1 || !cut.Done() {
		t.Fatalf("worker %d, want 1; the connection was cut: %v", w, cut.Done())
	}
	l.wantFence(t, l.direct, lease)

	cut = l.wire.cut(t, false, owner, changed(1))
	l.raise(t, lease)
	if !cut.Done() {
		t.Error("no renewal was cut")
	}
	l.wantFence(t, l.direct, lease)

	before := lease.Grant()
	l.wire.cut(t, true, owner, nil)
	ctx, cancel := bounded(t)
	defer cancel()
	if err := lease.Renew(ctx, before.Limit, before.Limit+100); err != nil {
		l.wantUnreachable(t, err)
		if errors.Is(err, assigner.ErrWorkerRowLost) || lease.Grant() != before {
			t.Errorf("grant %+v after a Renew that was lost, want %+v: %v", lease.Grant(), before, err)
		}
	}
	l.wantFence(t, l.direct, lease)
	insist(t, "Renew", func(ctx context.Context) error { return lease.Renew(ctx, before.Limit, before.Limit+100) })
	l.lostClaim(t, owner, first, lease)

	insist(t, "Renew", func(ctx context.Context) error { return lease.Renew(ctx, before.Limit, before.Limit) })
	cut = l.wire.cut(t, false, owner, func() bool { return load(t, l.direct, 1).Token == "" })
	release(t, lease)
	if row := load(t, l.direct, 1); !cut.Done() || row.Token != "" || row.Fence != lease.Grant().Limit {
		t.Errorf("row %+v, want it free with fence %d; the connection was cut: %v", row, lease.Grant().Limit, cut.Done())
	}
}

// lostClaim checks that a claim that did not reach the server leaves no row, unless the client has
// sent it again.
func (l link) lostClaim(t *testing.T, owner string, keep ...assigner.Lease) {
	t.Helper()
	cut := l.wire.cut(t, true, owner, nil)
	claimed, err := tryAssign(t, assigner.Fenced(l.store, 7, owner, l.config()), Domain(), keep...)
	if err == nil {
		release(t, claimed)
		return
	}
	l.wantUnreachable(t, err)
	if row := load(t, l.direct, 7); !cut.Done() || row != (assigner.Row{}) {
		t.Errorf("row %+v of a claim that was lost; the connection was cut: %v", row, cut.Done())
	}
}

// cutCounts cuts the swap that counts a new worker ID. The worker ID is not wasted.
func cutCounts(t *testing.T, l link) {
	held := []assigner.Lease{assign(t, l.auto())}
	l.warm(t)
	a := assigner.Auto(l.store, l.config())
	for _, before := range []bool{false, true} {
		meta := loadMeta(t, l.direct)
		cut := l.wire.cut(t, before, meta.Namespace, func() bool { return loadMeta(t, l.direct).NextWorkerID > meta.NextWorkerID })
		next, err := tryAssign(t, a, Domain(), held...)
		if err != nil {
			l.wantUnreachable(t, err)
			if !before {
				t.Errorf("Assign whose count had no answer: %v", err)
			}
			insist(t, "Assign", func(ctx context.Context) (err error) {
				next, err = settle(ctx, a, Domain(), nil)
				return err
			})
		}
		if got, want := next.Grant().WorkerID, meta.NextWorkerID; got != want || !cut.Done() {
			t.Errorf("worker %d, want %d; cut before: %v, the connection was cut: %v", got, want, before, cut.Done())
		}
		held = append(held, next)
	}
	if next := loadMeta(t, l.direct).NextWorkerID; next != int64(len(held)) {
		t.Errorf("next worker %d after %d leases, want as many", next, len(held))
	}
}
