package assigner

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
)

// ground is a store with failovers, and a record of all grants.
type ground struct {
	t      *testing.T
	store  *memStore
	now    int64
	grants map[int64][]Grant // by worker ID
}

func newGround(t *testing.T) *ground {
	g := &ground{t: t, store: newMemStore(), now: memStart, grants: make(map[int64][]Grant)}
	g.store.pin(0)
	g.store.status.Identity, g.store.meta.Identity = "A", "A"
	return g
}

// A snapshot is the state of a server.
type snapshot struct {
	meta leasestore.Meta
	rows map[int64]leasestore.Row
}

func (g *ground) snapshot() snapshot {
	return snapshot{g.store.meta, maps.Clone(g.store.rows)}
}

// failover makes another server, which has an earlier state, the primary.
func (g *ground) failover(identity string, s snapshot) {
	g.store.status.Identity, g.store.meta, g.store.rows = identity, s.meta, maps.Clone(s.rows)
}

func (g *ground) pass(units int64) {
	g.now += units
	g.store.status.Now = memTime(g.now)
}

func (g *ground) assign() (Lease, error) {
	a := Leased(g.store, shortWindow).(*leaser)
	a.clock = func() instant { return instant{g.store.status.Now, g.store.status.Now} }
	d := memDomain()
	d.Now = func() int64 { return g.now }
	return a.Assign(g.t.Context(), d)
}

// take waits for a worker ID, and has the lease renewed as far as it gets when it is ahead of the
// clock by MaxLead.
func (g *ground) take() (l Lease, waited int64) {
	g.t.Helper()
	l, err := g.assign()
	for ; errors.Is(err, ErrQuarantined); waited++ {
		g.pass(1)
		l, err = g.assign()
	}
	if err != nil {
		g.t.Fatal(err)
	}
	for last := int64(0); last < l.Grant().Last; {
		last = l.Grant().Last
		if err := extend(g.t.Context(), l, min(last, g.now+2*30+15), last+100); err != nil {
			g.t.Fatal(err)
		}
	}
	g.record(l)
	return l, waited
}

// record fails the test if two leases of a worker ID have a delta.
func (g *ground) record(l Lease) {
	g.t.Helper()
	grant := l.Grant()
	for _, other := range g.grants[grant.WorkerID] {
		if grant.First <= other.Last && other.First <= grant.Last {
			g.t.Errorf("worker %d: granted from %d to %d, and from %d to %d", grant.WorkerID, other.First, other.Last, grant.First, grant.Last)
		}
	}
	g.grants[grant.WorkerID] = append(g.grants[grant.WorkerID], grant)
}

// Two failovers within five minutes forget all claims on the servers before them.
func TestTwoFailoversInShortTimeRepeatNoDelta(t *testing.T) {
	for _, pause := range []int64{0, 1, 30, 60, 137, 138, 200, 300} {
		g := newGround(t)
		before := g.snapshot()
		g.take()
		g.failover("B", before)
		if _, waited := g.take(); waited == 0 {
			t.Error("a start after a failover has not waited")
		}
		g.pass(pause)
		g.failover("C", before)
		g.take()
	}
}

// Two failovers during a claim lead back to the first server, and to a higher bound.
func TestClaimBeginsAgainIfAnotherBoundWasStored(t *testing.T) {
	g := newGround(t)
	g.store.onSwap = func(_, _ leasestore.Row, do func() bool) (bool, error) {
		g.store.onSwap, g.store.meta.Quarantine = nil, memStart+50
		g.store.meta.Version, g.store.meta.Token = 2, "another"
		return do(), nil
	}
	if l, _ := g.take(); l.Grant().First <= memStart+50 {
		t.Errorf("grant %+v, want deltas above %d", l.Grant(), memStart+50)
	}
}

// The start of a quarantine is in the store: neither a later claim nor another process begins it
// anew, and the claim begins above the bound while the clock is still below.
func TestQuarantineLastsOnce(t *testing.T) {
	g := newGround(t)
	before := g.snapshot()
	g.take()
	g.failover("B", before)
	_, err := g.assign()
	wantError(t, err, ErrQuarantined, `now "B"`)
	bound := g.store.meta.Quarantine
	g.pass(100)
	l, waited := g.take()
	// The reserve of half a window, a unit, and MaxSkew twice, each with a unit.
	if want := int64(15 + 1 + 2*60); waited+100 != want || l.Grant().First != bound+1 || g.now >= bound {
		t.Errorf("waited for %d units, grant %+v, bound %d, now %d; want %d units", waited+100, l.Grant(), bound, g.now, want)
	}
	if _, waited := g.take(); waited != 0 {
		t.Errorf("a second start waited for %d units", waited)
	}
}

// A server may become the primary again, without the claims of its successor but with its record of
// the failover, or without both. The identity of MySQL does not tell the second from no failover.
func TestFormerServerReturnsWithoutItsSuccessorsClaims(t *testing.T) {
	g := newGround(t)
	l, _ := g.take()
	testEnd(t, l)
	g.failover("B", g.snapshot())
	_, err := g.assign()
	wantError(t, err, ErrQuarantined)
	known := g.snapshot()
	g.take() // of the row that the first has released
	g.failover("A", known)
	if _, waited := g.take(); waited == 0 {
		t.Error("a start after a failback has not waited")
	}
}

// The renewal of a holder stores the bound before its row shows the new server.
func TestRenewalAfterAFailoverStoresTheBound(t *testing.T) {
	g := newGround(t)
	l, _ := g.take()
	g.pass(10)
	g.failover("B", g.snapshot())
	if err := extend(t.Context(), l, g.now, g.now); err != nil {
		t.Fatal(err)
	}
	meta, row := g.store.meta, g.store.rows[l.Grant().WorkerID]
	if meta.Identity != "B" || meta.Quarantine <= l.Grant().Last || row.Identity != term(meta) {
		t.Errorf("meta %+v, row %+v; want the server and a bound above %d", meta, row, l.Grant().Last)
	}
	if err := l.End(t.Context(), Ending{Released: true, Used: g.now}); err != nil { // gives back the rest of the grant
		t.Fatal(err)
	}
	clear(g.grants)
	if _, waited := g.take(); waited != 0 {
		t.Errorf("the row of a holder that has renewed on the new server is quarantined for %d units", waited)
	}
}

// Spare rows stand for worker IDs that an earlier server may have granted.
func TestSpareRowsBeginAboveTheBound(t *testing.T) {
	s := newMemStore()
	s.pin(0)
	s.status.Identity, s.meta.Identity, s.meta.Quarantine = "B", "B", 1050
	c := &claim{leaser: leased(creatingStore{s, t}).(*leaser), terms: terms{domain: memDomain()}, ctx: t.Context(), meta: s.meta, raced: 1}
	if n := c.createSpares(1); n != 3 || s.rows[1].Fence != 1050 || c.found(s.rows[1]) != 1050 {
		t.Errorf("%d rows, such as %+v; want 3 with the fence 1050", n, s.rows[1])
	}
}

// testEnd releases a lease whose deltas are all used.
func testEnd(t *testing.T, l Lease) {
	t.Helper()
	if err := l.End(t.Context(), Ending{Released: true, Used: l.Grant().Last}); err != nil {
		t.Fatal(err)
	}
}

// The error tells the time of a quarantine.
func TestQuarantineTellsItsTime(t *testing.T) {
	g := newGround(t)
	before := g.snapshot()
	g.take()
	g.failover("B", before)
	for _, passed := range []int64{0, 100} {
		g.pass(passed)
		_, err := g.assign()
		wantRetry(t, err, time.Duration(15+1+2*60-passed)*time.Second)
	}
}

// A lossy store quarantines each claim for longer than any row is ahead of the clock, so the claim
// saves new worker IDs, also of a generator that does not run ahead.
func TestClaimOnALossyStorePrefersARow(t *testing.T) {
	s := newMemStore()
	s.pin(1)
	s.status.Lossy = true
	s.rows[0] = free(0, memStart+20)
	d := memDomain()
	d.MaxAhead = 0
	for _, order := range orders {
		a := leased(s).(*leaser)
		a.shuffle = order
		_, err := a.Assign(t.Context(), d)
		wantError(t, err, ErrQuarantined, "worker 0 ")
		s.rows[0] = free(0, memStart+20)
	}
}

// A bound is no reason to wait for if all worker IDs are held.
func TestWorkerIDsThatAreUsedUpAreNoQuarantine(t *testing.T) {
	s := newMemStore()
	s.pin(4)
	s.status.Identity, s.meta.Identity, s.meta.Quarantine = "B", "B", memStart+1000
	for worker := range int64(4) {
		s.rows[worker] = held(worker, 900, "other", memStart+10)
	}
	refused(t, leased(s), ErrWorkersExhausted)
}
