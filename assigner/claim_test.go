package assigner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/storecall"
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
			if got := take(t, a, memDomain()).Grant().WorkerID; got != int64(want) {
				t.Errorf("worker %d, want %d", got, want)
			}
		}
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
			s.rows[0] = leasestore.Row{Version: 1, Fence: 700, Owner: "gone", Identity: "A"}
			s.status.Identity, s.meta.Identity = "A", "A"
			server := int64(memStart)
			open := func(offset int64) (Assigner, Domain) {
				a := clocked(Leased(s, cfg))
				d := memDomain()
				d.Now = func() int64 { return server + offset }
				return a, d
			}
			a, d := open(off.host)
			before, l := maps.Clone(s.rows), take(t, a, d)
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

// Without an Owner, a row has the host and the process.
func TestRowHasAnOwner(t *testing.T) {
	s := newMemStore()
	take(t, Leased(s, shortWindow), memDomain())
	if owner := s.rows[0].Owner; owner == "" {
		t.Error("the row has no owner, want host and process")
	}
}

// A connected store keeps a connection for the operation of a context, as SQL stores do.
type connected struct {
	*memStore
	open      int    // connections
	impatient []bool // of each swap
}

func (s *connected) Close() error { s.open--; return nil }

func (s *connected) connect(ctx context.Context) {
	s.open++
	storecall.Keep(ctx, s, s)
}

func (s *connected) Status(ctx context.Context) (leasestore.Status, error) {
	s.connect(ctx)
	return s.memStore.Status(ctx)
}

func (s *connected) Expired(ctx context.Context, n int) ([]leasestore.Row, error) {
	s.connect(ctx)
	return s.memStore.Expired(ctx, n)
}

func (s *connected) Swap(ctx context.Context, old, next leasestore.Row, ttl time.Duration) (bool, error) {
	s.impatient = append(s.impatient, storecall.IsImpatient(ctx))
	return s.memStore.Swap(ctx, old, next, ttl)
}

// Other processes wait for the connection of a claim that waits for them.
func TestClaimHoldsNoConnectionWhileItWaits(t *testing.T) {
	s := &connected{memStore: newMemStore()}
	s.onChange = func(what string, do func() bool) (bool, error) { return what != "swap" && do(), nil }
	ctx, cancel := context.WithCancel(t.Context())
	a := newLeaser(s, shortWindow)
	pauses := 0
	a.pause = func(context.Context, int) {
		if pauses++; pauses == 3 {
			cancel()
		}
		if s.open != 0 {
			t.Errorf("pause %d: %d connections, want none", pauses, s.open)
		}
	}
	if _, err := a.Assign(ctx, memDomain()); !errors.Is(err, context.Canceled) || pauses != 3 {
		t.Errorf("%v after %d pauses, want 3 pauses until the context ends", err, pauses)
	}
}

// sourceFunc is a source of Fenced.
type sourceFunc func() int64

func (f sourceFunc) Assign(ctx context.Context, d Domain) (Lease, error) {
	return Static(f()).Assign(ctx, d)
}

func (s *connected) Namespaces(ctx context.Context) (map[string]leasestore.Meta, error) {
	s.connect(ctx)
	return s.memStore.Namespaces(ctx)
}

// A handlerFunc is called with each log record, as text.
type handlerFunc func(record []byte)

func (f handlerFunc) Write(record []byte) (int, error) { f(record); return len(record), nil }

// The source of Fenced and the Logger may need the only connection of a pool.
func TestClaimHoldsNoConnectionWhileItCallsTheUser(t *testing.T) {
	s, calls := &connected{memStore: newMemStore()}, 0
	call := func(what string) {
		if calls++; s.open != 0 {
			t.Errorf("%s: %d connections, want none", what, s.open)
		}
	}
	cfg := ownedBy("me")
	cfg.Logger = slog.New(slog.NewTextHandler(handlerFunc(func(record []byte) { call(string(record)) }), nil))
	cfg.AllowUndurable = true
	s.status.Namespace = "orders"
	for i := range 3 { // a namespace is new twice, then the store is another server
		if i < 2 {
			s.meta, s.others = leasestore.Meta{}, map[int]map[string]leasestore.Meta{1: {"users": s.meta}}[i]
		}
		s.status.Identity, s.status.Faults = fmt.Sprint("server ", i), []string{"fsync is off"}[i/2:]
		source := sourceFunc(func() int64 { call("source"); return int64(i) })
		if _, err := Fenced(s, source, cfg).Assign(t.Context(), memDomain()); err != nil && !errors.Is(err, ErrQuarantined) {
			t.Error(err)
		}
	}
	if calls != 3+7 {
		t.Errorf("%d calls, want 3 of the source and 7 of the Logger", calls)
	}
}

// A claim that has other rows to try does not wait for a row that another session has locked.
func TestOnlyClaimsWithOtherRowsAreImpatient(t *testing.T) {
	for want, open := range map[bool]func(leasestore.Store) Assigner{
		true:  func(s leasestore.Store) Assigner { return Leased(s, shortWindow) },
		false: func(s leasestore.Store) Assigner { return Fenced(s, Static(2), ownedBy("me")) },
	} {
		s := &connected{memStore: newMemStore()}
		l, err := open(s).Assign(t.Context(), memDomain())
		testkit.Must(t, err)
		if len(s.impatient) != 1 || s.impatient[0] != want || !l.Grant().Reusable {
			t.Errorf("impatient swaps %v, want %v; %+v, want it reusable", s.impatient, want, l.Grant())
		}
	}
}
