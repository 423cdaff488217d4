package assigner

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/test/together"
)

// Rows that were used far ahead of the clock do not hide others from a claim, although they expired
// first.
func TestLeasedReadsOnPastRowsFarAhead(t *testing.T) {
	s := newMemStore()
	d := memDomain()
	d.Layout.WorkerBits, d.Layout.DatacenterBits = 14, 0
	d.DatacenterID = 0
	for worker := range int64(5000) {
		s.rows[worker] = leasestore.Row{WorkerID: worker, Version: 1, Owner: "gone", Fence: 1 << 26, Expires: memTime(worker % 700)}
	}
	s.rows[4999] = leasestore.Row{WorkerID: 4999, Version: 1, Owner: "gone", Fence: 5, Expires: memTime(999)}
	s.pin(5000)
	s.meta.Layout, s.meta.DatacenterID = d.Layout, 0
	l, err := clocked(Leased(s, LeaseConfig{})).Assign(t.Context(), d)
	if err != nil || l.Grant().WorkerID != 4999 {
		t.Fatalf("Assign = %+v, %v, want worker 4999", l, err)
	}
}

// On a server that may be replaced, a claim begins no further ahead of the clock than a quarantine
// covers.
func TestAssignRejectsRowsBeyondMaxLead(t *testing.T) {
	const lead = 2 * 30 // two windows
	for name, row := range map[string]struct {
		identity string
		cfg      LeaseConfig
		fence    int64
		after    time.Duration // 0: taken at once
	}{
		"as far as a restart goes":  {"A", LeaseConfig{}, memStart + lead, 0},
		"a unit further":            {"A", LeaseConfig{}, memStart + lead + 1, time.Second},
		"a minute further":          {"A", LeaseConfig{}, memStart + lead + 60, time.Minute},
		"as configured":             {"A", LeaseConfig{MaxLead: time.Hour}, memStart + 3600, 0},
		"further than configured":   {"A", LeaseConfig{MaxLead: time.Hour}, memStart + 3607, 7 * time.Second},
		"where none is replaced":    {"", LeaseConfig{}, memStart + 24*3600, 0},
		"further than a day, there": {"", LeaseConfig{}, memStart + 24*3600 + 9, 9 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			for kind, open := range map[string]func(leasestore.Store) Assigner{
				"Fenced": func(s leasestore.Store) Assigner { return Fenced(s, Static(0), "orders-0", row.cfg) },
				"Leased": func(s leasestore.Store) Assigner { return Leased(s, row.cfg) },
				"Auto":   func(s leasestore.Store) Assigner { return Auto(s, row.cfg) },
			} {
				s := newMemStore()
				s.put(leasestore.Row{WorkerID: 0, Fence: row.fence, Identity: row.identity})
				s.pin(4) // no new ones
				s.status.Identity, s.meta.Identity = row.identity, row.identity
				l, err := clocked(open(s)).Assign(t.Context(), memDomain())
				if row.after == 0 {
					if err != nil || l.Grant().First != row.fence+1 {
						t.Errorf("%s: %+v, %v, want a grant above the fence", kind, l, err)
					}
					continue
				}
				wantError(t, err, ErrWorkerAheadOfClock, "MaxLead")
				wantRetry(t, err, row.after)
			}
		})
	}
}

// A row that a store has given a fence centuries ahead, such as by mistake, is not asked for again
// at once.
func TestRetryAfterOfFenceCenturiesAheadDoesNotOverflow(t *testing.T) {
	d, s := memDomain(), newMemStore()
	d.Layout.DeltaBits = 40
	s.put(leasestore.Row{WorkerID: 0, Fence: 1 << 39})
	s.meta.Layout = d.Layout
	_, err := clocked(Fenced(s, Static(0), "orders-0", LeaseConfig{})).Assign(t.Context(), d)
	wantError(t, err, ErrWorkerAheadOfClock, "MaxLead")
	wantRetry(t, err, math.MaxInt64)
}

// wantRetry checks that an error passes, and when.
func wantRetry(t *testing.T, err error, after time.Duration) {
	t.Helper()
	e, ok := errors.AsType[interface {
		error
		RetryAfter() time.Duration
	}](err)
	if !ok || e.RetryAfter() != after {
		t.Errorf("%v: passes: %v; want it to, after %v", err, ok, after)
	}
}

func TestLeasedRejectsNamespacesThatDifferInCase(t *testing.T) {
	s := &namedStore{memStore: newMemStore()}
	s.pin(0)
	like := s.meta
	other := like
	other.DatacenterID++
	for name, row := range map[string]struct {
		others map[string]leasestore.Meta
		fails  bool
	}{
		"case":               {map[string]leasestore.Meta{"Orders": like}, true},
		"trailing space":     {map[string]leasestore.Meta{"orders ": like}, true},
		"another datacenter": {map[string]leasestore.Meta{"Orders": other}, false},
		"another name":       {map[string]leasestore.Meta{"users": like}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s.others = row.others
			_, err := clocked(Leased(s, LeaseConfig{})).Assign(t.Context(), memDomain())
			if !row.fails {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantError(t, err, leasestore.ErrOverlap, `namespace "orders"`, "DatacenterID")
		})
	}
}

func TestFirstWorkerIDBoundsANamespace(t *testing.T) {
	s := newMemStore()
	cfg := LeaseConfig{FirstWorkerID: 2}
	wantGrant(t, take(t, clocked(Leased(s, cfg))), 2, 1, 1030)
	wantGrant(t, take(t, clocked(Auto(s, cfg))), 3, 1, 1030)
	_, err := clocked(Leased(s, cfg)).Assign(t.Context(), memDomain())
	wantError(t, err, ErrWorkersExhausted, "all 2")
	_, err = clocked(Leased(s, LeaseConfig{})).Assign(t.Context(), memDomain())
	wantError(t, err, ErrLayoutMismatch, "FirstWorkerID 2 in the store, here 0")
	for _, number := range []int64{1, 4} {
		_, err = clocked(Fenced(s, given{WorkerID: number}, "host", cfg)).Assign(t.Context(), memDomain())
		wantError(t, err, ErrWorkerOutOfRange, "allowed with FirstWorkerID 2: 2 to 3")
	}
	wantGrant(t, take(t, clocked(Leased(newMemStore(), LeaseConfig{FirstWorkerID: 3}))), 3, 1, 1030)
	for _, first := range []int64{-1, 4} {
		_, err = clocked(Leased(newMemStore(), LeaseConfig{FirstWorkerID: first})).Assign(t.Context(), memDomain())
		wantError(t, err, nil, "FirstWorkerID")
	}
}

// Many processes start at once in a new namespace: all get a worker ID, and the rows that they
// created for each other are few.
func TestAssignOfManyFirstStarts(t *testing.T) {
	const starts = 400
	for name, open := range map[string]func(leasestore.Store, LeaseConfig) Assigner{"Leased": Leased, "Auto": Auto} {
		t.Run(name, func(t *testing.T) {
			s := newMemStore()
			d := memDomain()
			d.Layout = bitsalloc.Default()
			var mu sync.Mutex
			seen := make(map[int64]bool)
			together.Run(starts, func(int) {
				l, err := clocked(open(s, LeaseConfig{})).Assign(t.Context(), d)
				mu.Lock()
				defer mu.Unlock()
				if err != nil || seen[l.Grant().WorkerID] {
					t.Errorf("Assign = %+v, %v", l, err)
					return
				}
				seen[l.Grant().WorkerID] = true
			})
			if n := int64(len(s.rows)); n != s.meta.NextWorkerID {
				t.Errorf("%d rows, %d counted; want as many", n, s.meta.NextWorkerID)
			}
		})
	}
}

// A start that loses every row to others until its time is over says so.
func TestLeasedThatLosesAllRowsNamesTheCause(t *testing.T) {
	s := newMemStore()
	ctx, cancel := context.WithCancel(t.Context())
	s.onSwap = func(_, next leasestore.Row, _ func() bool) (bool, error) { // another process is faster
		s.rows[next.WorkerID] = held(next.WorkerID, 1, "other", 2000)
		cancel()
		return false, nil
	}
	_, err := clocked(Leased(s, LeaseConfig{})).Assign(ctx, memDomain())
	wantError(t, err, context.Canceled, "1 rows", "start fewer at once", "AssignTimeout")
	if strings.Contains(err.Error(), "exhausted") {
		t.Error(err)
	}
}

// Fenced takes any number. The counter passes its rows without the pauses of a competition, and
// nothing is created in vain.
func TestLeasedCountsRowsOfFenced(t *testing.T) {
	s := newMemStore()
	d := memDomain()
	d.Layout.WorkerBits, d.Layout.DatacenterBits, d.DatacenterID = 12, 0, 0
	for worker := range int64(300) {
		s.rows[worker] = held(worker, 1, "occupied", 5000)
	}
	a := clocked(Leased(s, LeaseConfig{}))
	pauses, swaps := 0, 0
	s.onSwap = func(_, _ leasestore.Row, do func() bool) (bool, error) {
		swaps++
		return do(), nil
	}
	a.(*leaser).pause = func(context.Context, int) { pauses++ }
	l, err := a.Assign(t.Context(), d)
	if err != nil || l.Grant().WorkerID != 300 {
		t.Fatalf("Assign = %+v, %v, want worker 300", l, err)
	}
	if len(s.rows) != 301 || s.meta.NextWorkerID != 301 || pauses != patience-1 || swaps != 300+patience {
		t.Errorf("%d rows, %d counted, %d pauses, %d swaps; want 301, %d and %d", len(s.rows), s.meta.NextWorkerID, pauses, swaps, patience-1, 300+patience)
	}
}

// A claim creates rows for others as it loses worker IDs to processes that start at the same time.
func TestLeasedCreatesSpareRows(t *testing.T) {
	for name, row := range map[string]struct {
		create bool // in one operation
		losses []int64
	}{
		"by others":        {false, []int64{0, 0, 0}},
		"in one operation": {true, []int64{0, spares, mostSpares, mostSpares}},
	} {
		t.Run(name, func(t *testing.T) {
			for losses, spare := range row.losses {
				s := newMemStore()
				var store leasestore.Store = s
				if row.create {
					store = creatingStore{s, t}
				}
				d := memDomain()
				d.Layout = bitsalloc.Default()
				a := clocked(Leased(store, LeaseConfig{}))
				a.(*leaser).pause = func(context.Context, int) {}
				lost := 0
				s.onSwap = func(_, next leasestore.Row, do func() bool) (bool, error) {
					if next.Token != "" && lost < losses {
						lost++
						s.rows[next.WorkerID] = held(next.WorkerID, 1, "other", 2000)
						s.meta.NextWorkerID = next.WorkerID + 1
						return false, nil
					}
					return do(), nil
				}
				l := takeIn(t, a, d)
				for worker := l.Grant().WorkerID + 1; worker < s.meta.NextWorkerID; worker++ {
					if got, want := s.rows[worker], (leasestore.Row{WorkerID: worker, Version: 1, Expires: memTime(memStart - 60)}); got != want {
						t.Errorf("row %+v, want %+v", got, want)
					}
				}
				if w := l.Grant().WorkerID; w != int64(losses) || s.meta.NextWorkerID != w+1+spare || int64(len(s.rows)) != w+1+spare {
					t.Errorf("worker %d after %d losses, %d counted, %d rows; want %d spare ones", w, losses, s.meta.NextWorkerID, len(s.rows), spare)
				}
			}
		})
	}
}

// Rows that may be missing are not counted: no worker ID is burnt.
func TestLeasedCountsNoMissingSpareRow(t *testing.T) {
	s := newMemStore()
	d := memDomain()
	d.Layout = bitsalloc.Default()
	a := clocked(Leased(creatingStore{s, t}, LeaseConfig{}))
	a.(*leaser).pause = func(context.Context, int) {}
	s.onSwap = func(_, next leasestore.Row, do func() bool) (bool, error) {
		switch {
		case next.WorkerID == 0:
			s.rows[0] = held(0, 1, "other", 2000)
			s.meta.NextWorkerID = 1
			return false, nil
		case next.WorkerID == 4:
			return false, errStore
		}
		return do(), nil
	}
	if w := takeIn(t, a, d).Grant().WorkerID; w != 1 || s.meta.NextWorkerID != 2 {
		t.Errorf("worker %d, next %d, want 1 and 2", w, s.meta.NextWorkerID)
	}
}

// The only free row is lost to a process that ends at once: the next try finds it free again.
func TestLeasedTriesALostRowAgain(t *testing.T) {
	s := newMemStore()
	s.put(leasestore.Row{WorkerID: 0}, held(1, 1, "b", 2000), held(2, 1, "c", 2000), held(3, 1, "d", 2000))
	s.onSwap = func(_, _ leasestore.Row, _ func() bool) (bool, error) {
		s.onSwap = nil
		return false, nil
	}
	a := clocked(Leased(s, LeaseConfig{}))
	a.(*leaser).pause = func(context.Context, int) {}
	wantGrant(t, take(t, a), 0, 1, 1030)
}

// A creatingStore creates rows in one operation.
type creatingStore struct {
	*memStore
	*testing.T
}

func (s creatingStore) CreateFree(ctx context.Context, rows []leasestore.Row, ttl time.Duration) error {
	if len(rows) == 0 {
		s.Error("CreateFree of no rows")
	}
	for _, row := range rows {
		if _, err := s.Swap(ctx, leasestore.Row{}, row, ttl); err != nil {
			return err
		}
	}
	return nil
}

// given is a source of Fenced that does not check its worker ID.
type given Grant

func (g given) Assign(context.Context, Domain) (Lease, error) { return derivedLease{Grant(g)}, nil }
