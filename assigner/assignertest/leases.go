package assignertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
)

// runLeases is the part of [RunStore] that checks leases on a store.
func runLeases(run func(name string, f func(*testing.T, func() assigner.Store))) {
	run("LeaseGrantsWhatTheRowSays", grantIsRow)
	run("RenewRaisesTheFence", renewRaises)
	run("LeasesAtOnceGetDifferentWorkers", leasesAtOnce)
	run("ReleasedWorkerIsReusedAboveItsFence", releasedReused)
	run("ExpiredWorkerIsReusedAboveItsFence", expiredReused)
	run("AutoTakesNewWorkersFirst", autoNewFirst)
	run("LeasesAreExhausted", leasesExhausted)
	run("ZombieLosesItsRow", zombie)
	run("FencedRefusesAnotherOwner", fencedRefuses)
	run("FencedLetsTheSameOwnerTakeOver", fencedTakesOver)
	run("AmbiguousSwapIsReadAgain", ambiguousSwap)
	run("StoreThatWentBackIsNoticed", wentBack)
	run("AnotherLayoutIsRefused", anotherLayout)
	run("ClockAnHourOffIsRefused", clockOff)
	run("LeaseWithEndedContextIsAnError", leaseEnded)
}

// rowOf returns the row that a lease stands on.
func rowOf(t *testing.T, s assigner.Store, l assigner.Lease) assigner.Row {
	t.Helper()
	return load(t, s, l.Grant().WorkerID)
}

// expire has the time of a lease run out.
func expire(t *testing.T, s assigner.Store, l assigner.Lease) {
	t.Helper()
	row := rowOf(t, s, l)
	if !swap(t, s, row, row, 0) {
		t.Fatalf("row %d has changed", row.WorkerID)
	}
}

// wantAbove checks that a worker ID went from one lease to another whose deltas lie above the first one's.
func wantAbove(t *testing.T, from, to assigner.Grant) {
	t.Helper()
	if to.WorkerID != from.WorkerID || to.First <= from.Limit || to.Limit < to.First {
		t.Errorf("grant %+v after %+v, want the same worker and deltas above its limit", to, from)
	}
}

func grantIsRow(t *testing.T, handle func() assigner.Store) {
	s, guarantee := handle(), assigner.GuaranteeFenced
	st := status(t, s)
	if st.Lossy {
		guarantee = assigner.GuaranteeLossy
	}
	d := Domain()
	d.Prepared = 1000
	now := d.Now()
	l, err := tryAssign(t, assigner.Leased(handle(), assigner.LeaseConfig{Owner: "me", Window: 20 * time.Second}), d)
	if err != nil {
		t.Fatal(err)
	}
	g := l.Grant()
	if g.Guarantee != guarantee || !g.Reusable || !g.Fenced() {
		t.Errorf("grant %+v, want %v, reusable and fenced", g, guarantee)
	}
	if g.First > now || g.Limit < now+1000+20 {
		t.Errorf("grant is for deltas %d to %d, want %d to %d at least", g.First, g.Limit, now, now+1000+20)
	}
	row := rowOf(t, s, l)
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
}

func renewRaises(t *testing.T, handle func() assigner.Store) {
	s := handle()
	l := assign(t, assigner.Leased(handle(), assigner.LeaseConfig{}))
	for range 5 {
		before := l.Grant()
		if err := l.Renew(t.Context(), before.Limit, before.Limit+100); err != nil {
			t.Fatalf("Renew: %v", err)
		}
		after := l.Grant()
		if after.Limit < before.Limit+100 {
			t.Errorf("limit %d after Renew wanted %d", after.Limit, before.Limit+100)
		}
		if row := rowOf(t, s, l); row.Fence != after.Limit {
			t.Errorf("fence %d, limit %d", row.Fence, after.Limit)
		}
		before.Limit = after.Limit
		if after != before {
			t.Errorf("grant %+v after Renew, want %+v: nothing but the limit changes", after, before)
		}
	}
}

func leasesAtOnce(t *testing.T, handle func() assigner.Store) {
	var wg sync.WaitGroup
	var owners sync.Map
	start := make(chan struct{})
	for i := range holders {
		a := assigner.Leased(handle(), assigner.LeaseConfig{})
		if i%2 == 1 {
			a = assigner.Auto(handle(), assigner.LeaseConfig{})
		}
		wg.Go(func() {
			<-start
			ctx, cancel := bounded(t)
			defer cancel()
			l, err := a.Assign(ctx, Domain())
			if err != nil {
				t.Errorf("Assign for holder %d: %v", i, err)
				return
			}
			if j, twice := owners.LoadOrStore(l.Grant().WorkerID, i); twice {
				t.Errorf("holders %v and %d both have worker %d", j, i, l.Grant().WorkerID)
			}
		})
	}
	close(start)
	wg.Wait()
}

func releasedReused(t *testing.T, handle func() assigner.Store) {
	a := assigner.Leased(handle(), assigner.LeaseConfig{})
	kept, released := assign(t, a), assign(t, a)
	if kept.Grant().WorkerID == released.Grant().WorkerID {
		t.Fatalf("two leases have worker %d", kept.Grant().WorkerID)
	}
	fence := rowOf(t, handle(), released).Fence
	release(t, released)
	if row := rowOf(t, handle(), released); row.Fence != fence || row.Token != "" {
		t.Errorf("row %+v after its release, want no token and fence %d", row, fence)
	}
	again := assign(t, assigner.Leased(handle(), assigner.LeaseConfig{}))
	wantAbove(t, released.Grant(), again.Grant())
	release(t, released) // it is no longer its own
	for _, l := range []assigner.Lease{kept, again} {
		if err := renew(t, l); err != nil {
			t.Errorf("Renew: %v", err)
		}
	}
}

func expiredReused(t *testing.T, handle func() assigner.Store) {
	a := assigner.Leased(handle(), assigner.LeaseConfig{})
	held, expired := assign(t, a), assign(t, a)
	expire(t, handle(), expired)
	wantAbove(t, expired.Grant(), assign(t, assigner.Leased(handle(), assigner.LeaseConfig{})).Grant())
	if err := renew(t, held); err != nil {
		t.Errorf("Renew: %v", err)
	}
}

func autoNewFirst(t *testing.T, handle func() assigner.Store) {
	a, d := assigner.Auto(handle(), assigner.LeaseConfig{}), Domain()
	d.Layout.WorkerBits = 2
	last := make(map[int64]assigner.Grant)
	for i := range 3 * (d.MaxWorkerID() + 1) {
		l, err := tryAssign(t, a, d)
		if err != nil {
			t.Fatalf("Assign: %v", err)
		}
		g := l.Grant()
		before, known := last[g.WorkerID]
		if known != (i > d.MaxWorkerID()) {
			t.Errorf("start %d has worker %d, given out before: %v", i, g.WorkerID, known)
		}
		if known {
			wantAbove(t, before, g)
		}
		last[g.WorkerID] = g
		release(t, l)
	}
}

func leasesExhausted(t *testing.T, handle func() assigner.Store) {
	d := Domain()
	d.Layout.WorkerBits = 2
	leased, auto := assigner.Leased(handle(), assigner.LeaseConfig{}), assigner.Auto(handle(), assigner.LeaseConfig{})
	seen := make(map[int64]assigner.Lease)
	for range d.MaxWorkerID() + 1 {
		l, err := tryAssign(t, leased, d)
		if err != nil {
			t.Fatalf("Assign: %v", err)
		}
		seen[l.Grant().WorkerID] = l
	}
	if len(seen) != 4 {
		t.Fatalf("4 leases have %d workers", len(seen))
	}
	for _, a := range []assigner.Assigner{leased, auto, leased} {
		if _, err := tryAssign(t, a, d); !errors.Is(err, assigner.ErrWorkersExhausted) {
			t.Errorf("Assign with all workers held: %v, want ErrWorkersExhausted", err)
		}
	}
	release(t, seen[2])
	l, err := tryAssign(t, auto, d)
	if err != nil {
		t.Fatalf("Assign after a release: %v", err)
	}
	wantAbove(t, seen[2].Grant(), l.Grant())
}

// zombie comes back after its time, to find its row taken.
func zombie(t *testing.T, handle func() assigner.Store) {
	old := assign(t, assigner.Leased(handle(), assigner.LeaseConfig{Owner: "old"}))
	before := old.Grant()
	expire(t, handle(), old)
	successor := assign(t, assigner.Leased(handle(), assigner.LeaseConfig{Owner: "new"}))
	wantAbove(t, before, successor.Grant())
	row := rowOf(t, handle(), successor)
	for range 2 {
		err := old.Renew(t.Context(), before.Limit, before.Limit+1_000_000)
		if !errors.Is(err, assigner.ErrWorkerRowLost) {
			t.Errorf("Renew of the old lease: %v, want ErrWorkerRowLost", err)
		}
		if after := old.Grant(); after != before {
			t.Errorf("grant of the old lease %+v, was %+v", after, before)
		}
	}
	release(t, old)
	if got := rowOf(t, handle(), successor); !sameRow(got, row) {
		t.Errorf("the old lease changed the row to %+v, was %+v", got, row)
	}
	if err := renew(t, successor); err != nil {
		t.Errorf("Renew of the new lease: %v", err)
	}
}

func fencedRefuses(t *testing.T, handle func() assigner.Store) {
	mine := assigner.Fenced(handle(), 311, "192.168.209.55", assigner.LeaseConfig{})
	theirs := assigner.Fenced(handle(), 311, "192.168.161.55", assigner.LeaseConfig{})
	l := assign(t, mine)
	if l.Grant().WorkerID != 311 {
		t.Fatalf("worker %d, want 311", l.Grant().WorkerID)
	}
	row := rowOf(t, handle(), l)
	_, err := tryAssign(t, theirs, Domain())
	if !errors.Is(err, assigner.ErrWorkerInUse) || !strings.Contains(err.Error(), "192.168.209.55") {
		t.Errorf("Assign for another owner: %v; want ErrWorkerInUse, naming 192.168.209.55", err)
	}
	if got := rowOf(t, handle(), l); !sameRow(got, row) {
		t.Errorf("the refused owner changed the row to %+v, was %+v", got, row)
	}
	if err := renew(t, l); err != nil {
		t.Errorf("Renew: %v", err)
	}
	release(t, l)
	wantAbove(t, l.Grant(), assign(t, theirs).Grant())
	if _, err := tryAssign(t, assigner.Fenced(handle(), 131072, "x", assigner.LeaseConfig{}), Domain()); !errors.Is(err, assigner.ErrWorkerOutOfRange) {
		t.Errorf("Assign of worker 131072: %v, want ErrWorkerOutOfRange", err)
	}
}

func fencedTakesOver(t *testing.T, handle func() assigner.Store) {
	first := assign(t, assigner.Fenced(handle(), 7, "orders-7", assigner.LeaseConfig{}))
	before := first.Grant()
	second := assign(t, assigner.Fenced(handle(), 7, "orders-7", assigner.LeaseConfig{}))
	wantAbove(t, before, second.Grant())
	if err := renew(t, first); !errors.Is(err, assigner.ErrWorkerRowLost) || first.Grant() != before {
		t.Errorf("Renew of the first lease: %v, want ErrWorkerRowLost; grant %+v, was %+v", err, first.Grant(), before)
	}
	if err := renew(t, second); err != nil {
		t.Errorf("Renew of the second lease: %v", err)
	}
}

// A mute store makes its swaps, or loses them, and does not say which.
type mute struct {
	assigner.Store
	loses bool
}

var errMute = errors.New("connection lost")

func (m mute) Swap(ctx context.Context, old, next assigner.Row, ttl time.Duration) (bool, error) {
	if m.loses {
		return false, errMute
	}
	_, err := m.Store.Swap(ctx, old, next, ttl)
	return false, errors.Join(errMute, err)
}

func ambiguousSwap(t *testing.T, handle func() assigner.Store) {
	l := assign(t, assigner.Leased(mute{handle(), false}, assigner.LeaseConfig{}))
	if row := rowOf(t, handle(), l); row.Fence != l.Grant().Limit {
		t.Errorf("fence %d, limit %d", row.Fence, l.Grant().Limit)
	}
	g := l.Grant()
	if err := l.Renew(t.Context(), g.Limit, g.Limit+10); err != nil {
		t.Errorf("Renew: %v", err)
	}
	if row := rowOf(t, handle(), l); row.Fence != l.Grant().Limit || row.Fence < g.Limit+10 {
		t.Errorf("fence %d, limit %d; Renew wanted %d", row.Fence, l.Grant().Limit, g.Limit+10)
	}
	release(t, l)
	if row := rowOf(t, handle(), l); row.Token != "" {
		t.Errorf("row %+v has not been released", row)
	}

	lossy := mute{handle(), true}
	if _, err := tryAssign(t, assigner.Fenced(lossy, 99, "x", assigner.LeaseConfig{}), Domain()); !errors.Is(err, errMute) {
		t.Errorf("Assign with a swap that did not take effect: %v, want the store's error", err)
	}
	if row := load(t, handle(), 99); row != (assigner.Row{}) {
		t.Errorf("row %+v, want none", row)
	}
}

// wentBack puts a row back to an earlier state, as a restore does.
func wentBack(t *testing.T, handle func() assigner.Store) {
	s := handle()
	l := assign(t, assigner.Leased(handle(), assigner.LeaseConfig{}))
	earlier := rowOf(t, s, l)
	limit := l.Grant().Limit
	if err := l.Renew(t.Context(), limit, limit+10); err != nil {
		t.Fatalf("Renew: %v", err)
	}
	before := l.Grant()
	if !swap(t, s, rowOf(t, s, l), earlier, time.Hour) {
		t.Fatal("the row was not put back")
	}
	err := l.Renew(t.Context(), before.Limit, before.Limit+10)
	if !errors.Is(err, assigner.ErrFenceRegressed) || !errors.Is(err, assigner.ErrWorkerRowLost) {
		t.Errorf("Renew: %v, want ErrFenceRegressed and ErrWorkerRowLost", err)
	}
	if l.Grant() != before {
		t.Errorf("grant %+v, was %+v", l.Grant(), before)
	}
	wantRow(t, s, earlier)
}

func anotherLayout(t *testing.T, handle func() assigner.Store) {
	a := assigner.Leased(handle(), assigner.LeaseConfig{})
	assign(t, a)
	meta := loadMeta(t, handle())
	changes := map[string]func(*assigner.Domain){
		"DeltaBits":      func(d *assigner.Domain) { d.Layout.DeltaBits-- },
		"DatacenterBits": func(d *assigner.Domain) { d.Layout.DatacenterBits-- },
		"WorkerBits":     func(d *assigner.Domain) { d.Layout.WorkerBits-- },
		"SequenceBits":   func(d *assigner.Domain) { d.Layout.SequenceBits-- },
		"Unit":           func(d *assigner.Domain) { d.Layout.Unit /= 2 },
		"Epoch":          func(d *assigner.Domain) { d.Epoch = d.Epoch.Add(time.Millisecond) },
		"DatacenterID":   func(d *assigner.Domain) { d.DatacenterID = 3 },
	}
	all := Domain()
	for name, change := range changes {
		change(&all)
		d := Domain()
		change(&d)
		_, err := tryAssign(t, a, withClock(t, d))
		if !errors.Is(err, assigner.ErrLayoutMismatch) || !strings.Contains(fmt.Sprint(err), name) {
			t.Errorf("Assign with another %s: %v, want ErrLayoutMismatch, naming it", name, err)
		}
	}
	_, err := tryAssign(t, a, withClock(t, all))
	for name := range changes {
		if !errors.Is(err, assigner.ErrLayoutMismatch) || !strings.Contains(fmt.Sprint(err), name) {
			t.Errorf("Assign with another domain: %v, want ErrLayoutMismatch, naming %s", err, name)
		}
	}
	if got := loadMeta(t, handle()); got != meta {
		t.Errorf("meta %+v, was %+v", got, meta)
	}
	if rows := list(t, handle()); len(rows) != 1 {
		t.Errorf("rows %+v, want one", rows)
	}
	assign(t, a)
}

// withClock gives a domain the clock that fits its layout and epoch.
func withClock(t *testing.T, d assigner.Domain) assigner.Domain {
	t.Helper()
	a, err := bitsalloc.New(d.Layout, d.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	d.Now = func() int64 { return a.Delta(time.Now()) }
	return d
}

// clockOff: a host whose clock is wrong gets nothing, and spoils nothing for the others.
func clockOff(t *testing.T, handle func() assigner.Store) {
	for _, hours := range []int64{-1, 1} {
		d := Domain()
		now := d.Now
		d.Now = func() int64 { return now() + hours*3600 }
		for _, a := range []assigner.Assigner{
			assigner.Leased(handle(), assigner.LeaseConfig{}),
			assigner.Auto(handle(), assigner.LeaseConfig{}),
			assigner.Fenced(handle(), 7, "x", assigner.LeaseConfig{}),
		} {
			if _, err := tryAssign(t, a, d); !errors.Is(err, assigner.ErrClockSkew) {
				t.Errorf("Assign with a clock off by %d h: %v, want ErrClockSkew", hours, err)
			}
		}
	}
	if rows := list(t, handle()); len(rows) > 0 {
		t.Errorf("rows %+v, want none", rows)
	}
	assign(t, assigner.Leased(handle(), assigner.LeaseConfig{}))
}

func leaseEnded(t *testing.T, handle func() assigner.Store) {
	s := handle()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, a := range []assigner.Assigner{
		assigner.Leased(s, assigner.LeaseConfig{}), assigner.Auto(s, assigner.LeaseConfig{}), assigner.Fenced(s, 7, "x", assigner.LeaseConfig{}),
	} {
		if l, err := a.Assign(ctx, Domain()); l != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("Assign with a cancelled context: %v, %v; want context.Canceled", l, err)
		}
	}
	l := assign(t, assigner.Leased(s, assigner.LeaseConfig{}))
	before := l.Grant()
	if err := l.Renew(ctx, before.Limit, before.Limit+1); !errors.Is(err, context.Canceled) || l.Grant() != before {
		t.Errorf("Renew with a cancelled context: %v, want context.Canceled; grant %+v, was %+v", err, l.Grant(), before)
	}
	if err := renew(t, l); err != nil {
		t.Errorf("Renew: %v", err)
	}
}
