package assigner

import (
	"context"
	"errors"
	"maps"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/test/testkit"
)

// free returns a row without a holder, which has expired.
func free(worker, fence int64) leasestore.Row {
	return leasestore.Row{WorkerID: worker, Version: 1, Fence: fence, Owner: "gone"}
}

// orders are orders in which a claim may try rows: as read, and reversed.
var orders = []func(n int, swap func(i, j int)){
	func(int, func(int, int)) {},
	func(n int, swap func(i, j int)) {
		for i := range n / 2 {
			swap(i, n-1-i)
		}
	},
}

// Processes that start at once try different rows: the fences of a window, and the past ones, are
// alike.
func TestAssignTriesRowsInRandomOrder(t *testing.T) {
	for _, rows := range [][]leasestore.Row{{free(0, 5), free(1, 900)}, {free(0, 1001), free(1, 1030)}} {
		for want, order := range orders {
			s := newMemStore()
			s.rows[0], s.rows[1] = rows[0], rows[1]
			s.pin(2)
			a := leased(s)
			a.shuffle = order
			if got := take(t, a).Grant().WorkerID; got != int64(want) {
				t.Errorf("worker %d, want %d", got, want)
			}
		}
	}
}

// A fence centuries ahead, such as by mistake, is not asked for again at once.
func TestAssignSaturatesTheTimeToWait(t *testing.T) {
	d, s := memDomain(), newMemStore()
	d.Layout.DeltaBits = 40
	s.rows[0] = free(0, 1<<39)
	s.pin(1)
	s.meta.Layout = d.Layout
	_, err := Fenced(s, Static(0), ownedBy("me")).Assign(t.Context(), d)
	wantError(t, err, ErrWorkerAheadOfClock)
	if after, ok := uidring.RetryAfter(err); !ok || after != math.MaxInt64 {
		t.Errorf("%v passes after %v", err, after)
	}
}

func TestAssignRejectsAnotherDomainByField(t *testing.T) {
	s := newMemStore()
	take(t, leased(s))
	before := s.meta
	d := memDomain()
	d.Layout = bitsalloc.Layout{DeltaBits: 29, DatacenterBits: 6, WorkerBits: 3, SequenceBits: 14, Unit: 2 * time.Second}
	d.Epoch, d.DatacenterID, d.Now = d.Epoch.Add(time.Second), 4, func() int64 { return memStart / 2 }
	_, err := leased(s).Assign(t.Context(), d)
	wantError(t, err, ErrLayoutMismatch, "the store has Layout 28/5/2/13@1s, Epoch 2026-01-01T00:00:00Z, DatacenterID 3,",
		"here it is Layout 29/6/3/14@2s, Epoch 2026-01-01T00:00:01Z, DatacenterID 4,")
	if s.meta != before || len(s.rows) != 1 {
		t.Errorf("meta row %+v, was %+v, %d rows", s.meta, before, len(s.rows))
	}
	s.meta.Epoch = s.meta.Epoch.In(time.FixedZone("", 3600))
	take(t, leased(s))
	d = memDomain()
	d.Epoch = d.Epoch.In(time.FixedZone("", 3600))
	takeIn(t, leased(s), d)
}

func TestAssignNamesAllMistakesOfItsConfig(t *testing.T) {
	cfg := LeaseConfig{Window: -time.Second, MaxLead: -time.Minute, MaxSkew: -time.Hour, FirstWorkerID: -1}
	refused(t, Fenced(nil, nil, cfg), "store nil", "source nil", `Owner ""`, "Window -1s", "MaxLead -1m0s", "MaxSkew -1h0m0s")
	cfg = LeaseConfig{Window: maxSpan + 1, MaxLead: maxSpan + 2, MaxSkew: maxSpan + 3}
	refused(t, Leased(newMemStore(), cfg), "Window 87600h0m0.000000001s", "MaxLead 87600h0m0.000000002s", "MaxSkew 87600h0m0.000000003s")
	take(t, Leased(newMemStore(), LeaseConfig{Window: maxSpan, MaxLead: maxSpan, MaxSkew: maxSpan}))
	d := memDomain()
	d.Layout.SequenceBits = 40
	if _, err := Leased(newMemStore(), shortWindow).Assign(t.Context(), d); err == nil {
		t.Error("no error for a layout of 64 bits")
	}
	s := newMemStore()
	s.pin(1)
	s.meta.Layout = d.Layout
	if err := leasestore.Recover(t.Context(), s, leasestore.Recovery{Lead: time.Hour}); err == nil {
		t.Error("no error for a stored layout of 64 bits")
	}
}

// given is a source of Fenced that does not check its worker ID.
type given Grant

func (g given) Assign(context.Context, Domain) (Lease, error) {
	return &derivedLease{grant: Grant(g)}, nil
}

// nothing is an assigner with a mistake.
type nothing struct{}

func (nothing) Assign(context.Context, Domain) (Lease, error) { return nil, nil }

func TestFencedChecksItsSource(t *testing.T) {
	for words, source := range map[string]Assigner{
		"assigner: worker ID out of range: 4 from the source of Fenced": given{WorkerID: 4},
		"assigner: worker ID unknown: the source of Fenced returned":    nothing{},
		"source grants a worker ID that is sticky, allowed: derived":    given{Guarantee: GuaranteeSticky},
	} {
		refused(t, clocked(Fenced(newMemStore(), source, ownedBy("me"))), words)
	}
}

// A claim reads more rows when it can use none of the first ones: they are not counted yet, or of a
// server before a failover, whose fences are far ahead. While there are new worker IDs, Auto reads
// no more rows to find one to reuse: over remote leases, an answer has no room for all rows of a
// large namespace.
func TestClaimReadsOn(t *testing.T) {
	const first, last = 1000, 999 + 8*listed // rows
	for name, tt := range map[string]struct {
		open        func(*memStore) *leaser
		quarantine  int64
		next        int64 // worker IDs that are given out
		want, reads int64
	}{
		"Leased after a failover":         {leased, 2000, 6000, last, 2},
		"Leased, rows not counted":        {leased, 0, 0, 0, 3},
		"Auto":                            {auto, 0, 6000, 6000, 1},
		"Auto, all worker IDs are in use": {auto, 2000, 1 << 14, last, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s, d := newMemStore(), memDomain()
			d.Layout.WorkerBits = 14
			s.pin(tt.next)
			s.meta.Layout, s.meta.Identity, s.meta.Quarantine, s.status.Identity = d.Layout, "B", tt.quarantine, "B"
			for worker := int64(first); worker <= last; worker++ {
				s.rows[worker] = free(worker, 1)
			}
			present := free(last, 1)
			present.Identity = term(s.meta)
			s.rows[last] = present
			reads := int64(0)
			s.onRead = func(what string) error {
				if what == "list" {
					reads++
				}
				return nil
			}
			if got := takeIn(t, tt.open(s), d).Grant().WorkerID; got != tt.want || reads != tt.reads {
				t.Errorf("worker %d after %d reads, want %d after %d", got, reads, tt.want, tt.reads)
			}
		})
	}
}

// Goroutines that share an assigner take grants that have no delta in common.
func TestAssignBySeveralGenerators(t *testing.T) {
	for name, open := range map[string]func(*memStore) *leaser{
		"Leased": leased,
		"Fenced": func(s *memStore) *leaser {
			return clocked(Fenced(s, Static(2), LeaseConfig{Owner: "orders-2", Window: shortWindow.Window, MaxLead: 24 * time.Hour}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMemStore()
			s.status.Lossy = name == "Leased"
			a := open(s)
			a.pause = func(context.Context, int) {}
			d := memDomain()
			d.Registered = name == "Fenced"
			var firsts sync.Map
			testkit.Together(4, func(int) {
				for range 50 {
					l, err := a.Assign(t.Context(), d)
					if err != nil {
						if !errors.Is(err, ErrWorkerInUse) && !errors.Is(err, ErrQuarantined) && !errors.Is(err, ErrWorkersExhausted) {
							t.Error(err)
						}
						continue
					}
					if _, twice := firsts.LoadOrStore(l.Grant().First, true); twice {
						t.Errorf("two grants begin at %d", l.Grant().First)
					}
					if err := extend(t.Context(), l, 0, 0); err != nil && !errors.Is(err, ErrWorkerRowLost) {
						t.Error(err)
					}
					if err := l.End(t.Context(), Ending{Released: true, Used: l.Grant().First}); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// A failover forgets all that a holder has claimed. The holder was as far ahead of the clock as
// MaxLead allows, and has the highest limit that it can get; its host's clock was ahead of the old
// server's, and that ahead of the new server's. The next holder begins above that limit.
func TestQuarantineCoversEveryGrant(t *testing.T) {
	const skew = 60
	for _, cfg := range []LeaseConfig{shortWindow, {Window: 30 * time.Second, MaxLead: time.Hour}, {Window: time.Second}, {Window: 30 * time.Second, MaxLead: time.Second}} {
		for _, off := range []struct{ host, server, next int64 }{{0, 0, 0}, {skew, 0, 0}, {skew, 0, -skew}, {skew, -skew, -skew}, {skew, -skew, skew}, {-skew, skew, 0}} {
			s := newMemStore()
			s.pin(4)
			s.rows[0] = free(0, 700)
			s.status.Identity, s.meta.Identity = "A", "A"
			row := s.rows[0]
			row.Identity = "A"
			s.rows[0] = row
			server := int64(memStart)
			open := func(offset int64) (Assigner, Domain) {
				a := clocked(Leased(s, cfg))
				d := memDomain()
				d.Now = func() int64 { return server + offset }
				return a, d
			}
			a, d := open(off.host)
			before, l := maps.Clone(s.rows), takeIn(t, a, d)
			// It is ahead by MaxLead, and renews as often as it gets more.
			lead := l.(*lease).terms.fences(s.status).lead
			for last := int64(0); last < l.Grant().Last; {
				last = l.Grant().Last
				if _, err := l.Renew(t.Context(), Use{Used: min(last, d.Now()+lead), Want: last + 100}); err != nil {
					t.Fatal(err)
				}
			}
			if ahead := l.Grant().Last - d.Now(); ahead < lead {
				t.Errorf("%+v: the limit is %d ahead, want %d at least", cfg, ahead, lead)
			}
			s.rows = before
			server += off.server
			s.status.Identity, s.status.Now = "B", memTime(server)
			b, d := open(off.next)
			next, err := b.Assign(t.Context(), d)
			for errors.Is(err, ErrQuarantined) {
				server++
				s.status.Now = memTime(server)
				next, err = b.Assign(t.Context(), d)
			}
			switch {
			case err != nil:
				t.Errorf("%+v, %+v, at %d: %v, rows %+v", cfg, off, server, err, s.rows)
			case next.Grant().First <= l.Grant().Last:
				t.Errorf("%+v, %+v: a grant from %d on after one up to %d", cfg, off, next.Grant().First, l.Grant().Last)
			}
		}
	}
}

// Each new worker ID goes to another process, and the counter cannot be moved.
func TestClaimEndsWhenTheCounterCannotBeMoved(t *testing.T) {
	s := newMemStore()
	s.onChange = func(what string, do func() bool) (bool, error) {
		if what == "swap" {
			return false, nil
		}
		if s.meta.Version > 0 {
			return false, errStore
		}
		return do(), nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	a := newLeaser(s, shortWindow)
	a.pause = func(_ context.Context, try int) {
		if try > patience {
			cancel()
		}
	}
	if _, err := a.Assign(ctx, memDomain()); !errors.Is(err, errStore) {
		t.Errorf("%v, want the error of the store", err)
	}
}

// A renewal meets a new server, which has neither the row nor the namespace.
func TestRenewalOnAnEmptyServerCreatesNothing(t *testing.T) {
	s := newMemStore()
	s.status.Identity = "A"
	l, err := Leased(s, shortWindow).Assign(t.Context(), memDomain())
	testkit.Must(t, err)
	if owner := s.rows[0].Owner; owner == "" {
		t.Error("the row has no owner, want host and process")
	}
	s.status.Identity, s.meta, s.rows = "B", leasestore.Meta{}, map[int64]leasestore.Row{}
	if _, err := l.Renew(t.Context(), Use{Used: memStart, Want: memStart}); !errors.Is(err, leasestore.ErrRowMissing) || s.meta.Version != 0 {
		t.Errorf("%v, with the meta row %+v, want ErrRowMissing and no meta row", err, s.meta)
	}
}
