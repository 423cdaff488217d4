package assignertest

import (
	"cmp"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
)

// leaseCases are cases with leases on a store that works.
func leaseCases() []storeCase {
	return []storeCase{
		{"LeaseGrantsWhatTheRowSays", grantIsRow},
		{"FirstStartsAtOnceSucceed", firstStarts},
		{"ReleasedWorkerIsReusedAboveItsFence", releasedReused},
		{"LeasesAreExhausted", leasesExhausted},
		{"ZombieLosesItsRow", zombie},
		{"FencedKeepsOtherOwnersOut", fencedOwners},
		{"NamespacesAreApart", namespacesApart},
	}
}

func grantIsRow(t *testing.T, n namespace) {
	s, cfg, guarantee := n.Handle(), n.owned("me"), assigner.GuaranteeFenced
	if n.lossy {
		guarantee = assigner.GuaranteeLossy
	} else {
		cfg.Window = 20 * time.Second
	}
	st := status(t, s)
	d := Domain()
	now := d.Now()
	l := assignIn(t, assigner.Leased(n.Handle(), cfg), d)
	g := l.Grant()
	if g.Guarantee != guarantee || !g.Reusable || !g.Fenced() {
		t.Errorf("grant %+v, want %v, reusable and fenced", g, guarantee)
	}
	if !n.lossy && (g.First > now || g.Limit < now+20) {
		t.Errorf("grant is for deltas %d to %d, want %d to %d at least", g.First, g.Limit, now, now+20)
	}
	row := load(t, s, g.WorkerID)
	if row.Fence != g.Limit || row.WorkerID != g.WorkerID || row.Owner != "me" || row.Token == "" || row.Version != 1 || row.Identity != st.Identity {
		t.Errorf("row %+v does not say what the grant says: %+v; the store's identity is %q", row, g, st.Identity)
	}
	if !row.Expires.After(status(t, s).Now) {
		t.Errorf("row expires at %v, which is past", row.Expires)
	}
	meta := loadMeta(t, s)
	if meta.Layout != d.Layout || !meta.Epoch.Equal(d.Epoch) || meta.DatacenterID != d.DatacenterID || meta.Namespace == "" {
		t.Errorf("meta %+v does not say what the domain says: %+v", meta, d)
	}
	for range 3 {
		before := l.Grant()
		n.raise(t, l)
		after := l.Grant()
		if row := n.row(t, l); row.Fence != after.Limit {
			t.Errorf("fence %d, limit %d", row.Fence, after.Limit)
		}
		before.Limit = after.Limit
		if after != before {
			t.Errorf("grant %+v after Renew, want %+v: nothing but the limit changes", after, before)
		}
	}
}

// firstStarts checks the first processes of a namespace, which compete for new worker IDs since
// there are no rows yet.
func firstStarts(t *testing.T, n namespace) {
	starts := cmp.Or(n.Starts, 100)
	assigners := make([]assigner.Assigner, starts)
	for i := range assigners {
		assigners[i] = n.leased()
		if i%2 == 1 {
			assigners[i] = n.auto()
		}
	}
	assignAtOnce(t, assigners, 4*patience) // a hundred share the machine with their store
	// A process that loses to others creates up to 256 spare rows. On a busy machine several do so
	// at once, but the rows must stay a small part of the worker IDs.
	most := Domain().MaxWorkerID() / 16
	if next, rows := loadMeta(t, n.Handle()).NextWorkerID, list(t, n.Handle()); int64(len(rows)) != next || next > most {
		t.Errorf("%d rows, %d counted after %d starts; want as many, and %d at most", len(rows), next, starts, most)
	}
}

func releasedReused(t *testing.T, n namespace) {
	a := n.leased()
	kept := assign(t, a)
	released := assign(t, a, kept)
	if kept.Grant().WorkerID == released.Grant().WorkerID {
		t.Fatalf("two leases have worker %d", kept.Grant().WorkerID)
	}
	fence := n.row(t, released).Fence
	release(t, released)
	if row := n.row(t, released); row.Fence != fence || row.Token != "" {
		t.Errorf("row %+v after its release, want no token and fence %d", row, fence)
	}
	again := assign(t, n.leased(), kept)
	wantAbove(t, released.Grant(), again.Grant())
	release(t, released) // another holder has the row
	wantRenewed(t, kept, again)
}

func leasesExhausted(t *testing.T, n namespace) {
	d := Domain()
	d.Layout.WorkerBits = 1
	leased, auto := n.leased(), n.auto()
	var held []assigner.Lease
	for range d.MaxWorkerID() + 1 {
		held = append(held, assignIn(t, leased, d, held...))
	}
	if held[0].Grant().WorkerID == held[1].Grant().WorkerID {
		t.Fatalf("both leases have worker %d", held[0].Grant().WorkerID)
	}
	for _, a := range []assigner.Assigner{leased, auto, leased} {
		if _, err := tryAssign(t, a, d); !errors.Is(err, assigner.ErrWorkersExhausted) {
			t.Errorf("Assign with all workers held: %v, want ErrWorkersExhausted", err)
		}
	}
	release(t, held[1])
	wantAbove(t, held[1].Grant(), assignIn(t, auto, d, held[0]).Grant())
}

// zombie checks a holder that renews after its lease has expired and another holder has taken the
// row.
func zombie(t *testing.T, n namespace) {
	neighbor := assign(t, n.leased())
	old := assign(t, assigner.Leased(n.Handle(), n.owned("old")), neighbor)
	n.expire(t, old)
	successor := assign(t, assigner.Leased(n.Handle(), n.owned("new")), neighbor)
	wantAbove(t, old.Grant(), successor.Grant())
	row := n.row(t, successor)
	wantLost(t, old)
	release(t, old)
	if got := n.row(t, successor); !sameRow(got, row) {
		t.Errorf("the old lease changed the row to %+v, was %+v", got, row)
	}
	wantRenewed(t, neighbor, successor)
}

// fencedOwners checks that the row of a held worker ID is for its owner alone.
func fencedOwners(t *testing.T, n namespace) {
	mine, theirs := n.fenced(311, "192.168.209.55"), n.fenced(311, "192.168.161.55")
	l := assign(t, mine)
	row := n.row(t, l)
	_, err := tryAssign(t, theirs, Domain())
	if !errors.Is(err, assigner.ErrWorkerInUse) || !strings.Contains(err.Error(), "192.168.209.55") {
		t.Errorf("Assign for another owner: %v; want ErrWorkerInUse, naming 192.168.209.55", err)
	}
	if got := n.row(t, l); !sameRow(got, row) {
		t.Errorf("the rejected owner changed the row to %+v, was %+v", got, row)
	}
	if !n.lossy { // a lossy store makes the same owner wait, too
		restarted := assign(t, n.fenced(311, "192.168.209.55"))
		wantAbove(t, l.Grant(), restarted.Grant())
		wantLost(t, l)
		l = restarted
	}
	release(t, l)
	wantAbove(t, l.Grant(), assign(t, theirs).Grant())
}

// namespacesApart checks that operations on one namespace, above all Recover, do not affect
// another.
func namespacesApart(t *testing.T, n namespace) {
	if n.Other == nil {
		t.Skip("the store has one namespace")
	}
	mine := assign(t, n.leased())
	row, meta := n.row(t, mine), loadMeta(t, n.Handle())
	other := n.Other("another")
	if rows, m := list(t, other), loadMeta(t, other); len(rows) > 0 || m != (leasestore.Meta{}) {
		t.Errorf("another namespace has rows %+v and meta %+v, want none", rows, m)
	}
	theirs := assign(t, assigner.Leased(other, n.config()))
	if a, b := mine.Grant().WorkerID, theirs.Grant().WorkerID; a != b {
		t.Errorf("first worker %d here, %d in another namespace", a, b)
	}
	n.raise(t, theirs)
	release(t, theirs)
	ctx, cancel := bounded(t)
	defer cancel()
	if err := leasestore.Recover(ctx, other, time.Hour); (err != nil) != n.lossy {
		t.Errorf("Recover: %v, want an error of a lossy store alone", err)
	}
	if got := n.row(t, mine); !sameRow(got, row) {
		t.Errorf("row %+v after changes of another namespace, was %+v", got, row)
	}
	if got := loadMeta(t, n.Handle()); got != meta {
		t.Errorf("meta %+v after changes of another namespace, was %+v", got, meta)
	}
}
