package assigner

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
)

// The numbers of a claim by memDomain at the delta 1000, with a window of 30.
func TestAssignBeginsAboveTheFence(t *testing.T) {
	for name, row := range map[string]struct{ fence, first, limit int64 }{
		"never used":              {0, 1, 1030},
		"used in the past":        {500, 501, 1030},
		"used up to now":          {1000, 1001, 1030},
		"used ahead of the clock": {5000, 5001, 5030},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMemStore()
			s.put(leasestore.Row{WorkerID: 2, Fence: row.fence})
			wantGrant(t, take(t, leased(s)), 2, row.first, row.limit)
			if got := s.rows[2]; got.Version != 2 || got.Fence != row.limit || got.Token == "" || !got.Expires.Equal(memTime(1060)) {
				t.Errorf("row = %+v, want version 2, fence %d, a token, and two windows", got, row.limit)
			}
		})
	}
}

func TestWindowIsTwoMinutesByDefault(t *testing.T) {
	wantGrant(t, take(t, clocked(Leased(newMemStore(), LeaseConfig{}))), 0, 1, memStart+120)
}

func TestAssignChoosesAWorkerID(t *testing.T) {
	rows := []leasestore.Row{{WorkerID: 0, Fence: 1500}, {WorkerID: 1, Fence: 900}, held(2, 800, "other", 1001)}
	for name, row := range map[string]struct {
		open func(leasestore.Store) Assigner
		rows []leasestore.Row
		want int64
	}{
		"Leased: recycled, fence in the past":    {leased, rows, 1},
		"Leased: recycled, nearest fence":        {leased, []leasestore.Row{{WorkerID: 0, Fence: 1500}, {WorkerID: 1, Fence: 1200}}, 1},
		"Leased: new, as nothing is free":        {leased, rows[2:], 3},
		"Leased: expired by the store's clock":   {leased, []leasestore.Row{held(0, 900, "other", 1000)}, 0},
		"Leased: free, as its release has it":    {leased, []leasestore.Row{{WorkerID: 0, Fence: 900, Expires: memTime(1000)}}, 0},
		"Auto: new while there are any":          {auto, rows, 3},
		"Auto: recycled when all are given out":  {auto, append([]leasestore.Row{held(3, 1, "other", 1001)}, rows...), 1},
		"Leased: a row beyond the layout is not": {leased, []leasestore.Row{{WorkerID: 4, Fence: 1}, {WorkerID: 0, Fence: 2000}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, order := range orders {
				s := newMemStore()
				s.put(row.rows...)
				a := row.open(s)
				a.(*leaser).shuffle = order
				if got := take(t, a).Grant().WorkerID; got != row.want {
					t.Errorf("worker %d, want %d", got, row.want)
				}
			}
		})
	}
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

func TestAutoTakesSpareRowsFirst(t *testing.T) {
	s := newMemStore()
	s.put(leasestore.Row{WorkerID: 1}, leasestore.Row{WorkerID: 2})
	s.rows[0] = leasestore.Row{WorkerID: 0, Version: 1, Token: recoveringPrefix} // created by a recovery
	for _, order := range orders {
		s.rows[1] = leasestore.Row{WorkerID: 1, Version: 1} // never claimed
		a := auto(s)
		a.(*leaser).shuffle = order
		wantGrant(t, take(t, a), 1, 1, 1030)
		if s.meta.NextWorkerID != 3 {
			t.Errorf("next worker %d, want 3: none is new", s.meta.NextWorkerID)
		}
	}
	s.onList = func() error { return errStore }
	refused(t, auto(s), errStore, "list the expired rows")
}

func TestLeasedWithAClaimWithoutAnAnswer(t *testing.T) {
	s := newMemStore()
	s.put(leasestore.Row{WorkerID: 0, Fence: 700})
	s.lose(1)
	wantGrant(t, take(t, leased(s)), 0, 701, 1030)

	s = newMemStore() // the worker ID is new
	s.lose(1)
	s.onLoad = func() error { return context.DeadlineExceeded }
	wantError(t, refused(t, leased(s), errLostAnswer, "claim row 0"), context.DeadlineExceeded)
}

// If the answer to a count is lost, the claim reads the meta row and finds its token. A count
// without effect is an error and wastes no worker ID.
func TestLeasedWithACountWithoutAnAnswer(t *testing.T) {
	s := newMemStore()
	s.pin(0)
	a := leased(s)
	fail := func(func() bool) (bool, error) {
		s.onMeta = nil
		return false, errLostAnswer
	}
	s.onMeta = fail
	refused(t, a, errLostAnswer, "write the meta row")
	if row := s.rows[0]; row.Version != 1 || row.Token != "" || row.Expires.After(s.status.Now) {
		t.Errorf("row %+v, want a free one", row)
	}
	s.onMeta = func(do func() bool) (bool, error) {
		s.onMeta = nil
		do()
		return false, errLostAnswer
	}
	wantGrant(t, take(t, hasty(a)), 0, 1031, 1060) // the row has been created, and is claimed again
	s.onMeta = func(func() bool) (bool, error) {
		s.onMeta = nil
		s.meta.Version, s.meta.Token = s.meta.Version+1, "T" // another process swaps the meta row to the same version
		return false, errLostAnswer
	}
	if take(t, hasty(a)); s.meta.Token == "T" {
		t.Errorf("meta row %+v, want the new worker ID counted", s.meta)
	}
	s.meta, s.onMeta = leasestore.Meta{}, fail
	refused(t, a, errLostAnswer, "write the meta row") // at once
	s.onSwap = func(_, _ leasestore.Row, _ func() bool) (bool, error) {
		s.onSwap, s.errMeta = nil, errStore
		return false, nil
	}
	refused(t, hasty(a), errStore, "read the meta row")
}

func TestFencedRejectsAnotherOwner(t *testing.T) {
	s := newMemStore()
	first := take(t, fenced(s, 2, "10.0.0.55"))
	wantGrant(t, first, 2, 1, 1030)
	second := fenced(s, 2, "10.1.0.55")
	refused(t, second, ErrWorkerInUse, "row 2", `"10.0.0.55"`, `"10.1.0.55"`, "2026-01-01T00:17:40Z")

	s.status.Now = memTime(1060) // two windows later
	mine := take(t, second)
	wantGrant(t, mine, 2, 1031, 1060)
	wantError(t, first.Renew(t.Context(), 1010, 1018), ErrWorkerRowLost, "taken over", `"10.1.0.55"`)
	wantGrant(t, take(t, second), 2, 1061, 1090) // the same owner takes it at once
	wantError(t, mine.Renew(t.Context(), 1010, 1018), ErrWorkerRowLost)
}

func TestFencedTakesAReleasedWorkerIDOfAnotherOwner(t *testing.T) {
	s := newMemStore()
	if err := take(t, fenced(s, 0, "one")).Release(t.Context(), 1010); err != nil {
		t.Fatal(err)
	}
	d := s.at(memStart - 120) // the clocks were ahead: the row has not expired
	wantGrant(t, takeIn(t, fenced(s, 0, "two"), d), 0, 1031, 1060)
}

// Stores without a clock show when they were written last. A host that is behind has a wrong clock,
// or the writer had.
func TestAssignRejectsAClockThatIsOff(t *testing.T) {
	for _, row := range []struct {
		store, seen int64
		text        string
	}{
		{store: memStart - 60},
		{store: memStart + 60},
		{memStart - 900, 0, "it is 2026-01-01T00:16:40Z on this host, and 2026-01-01T00:01:40Z in the store or at its last write, allowed: a difference of 1m0s"},
		{memStart + 3600, 0, "it is 2026-01-01T00:16:40Z on this host, and 2026-01-01T01:16:40Z in the store"},
		{store: memStart, seen: memStart + 61},
		{memStart, memStart + 62, "it is 2026-01-01T00:16:40Z on this host, and 2026-01-01T00:17:42Z in the store or at its last write, allowed: a difference of 1m0s"},
	} {
		s := newMemStore()
		s.status.Now, s.status.Seen = memTime(row.store), memTime(row.seen)
		if row.text == "" {
			l := take(t, leased(s))
			s.status.Seen = memTime(row.store + 62)
			wantError(t, l.Renew(t.Context(), 1010, 1018), leasestore.ErrClockSkew, "at its last write")
			continue
		}
		refused(t, leased(s), leasestore.ErrClockSkew, row.text)
		if len(s.rows) > 0 {
			t.Error("a row was taken all the same")
		}
	}
}

func TestAssignOnAStoreWithFaults(t *testing.T) {
	s := newMemStore()
	s.pin(0)
	s.status.Faults = []string{"sync_binlog is 0", "read_only is on"}
	refused(t, leased(s), leasestore.ErrNotDurable, "sync_binlog is 0; read_only is on", "AllowUndurable")
	s.status.Faults = s.status.Faults[:1]
	refused(t, leased(s), leasestore.ErrNotDurable, "sync_binlog is 0;")
	l := take(t, clocked(Leased(s, LeaseConfig{Window: shortWindow.Window, AllowUndurable: true})))
	want := Grant{WorkerID: 0, First: 1, Limit: 1030, Guarantee: GuaranteeLossy, Reusable: true}
	if g := l.Grant(); g != want {
		t.Errorf("Grant = %+v, want %+v", g, want)
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
	if n := strings.Count(err.Error(), "correct them here"); n != 1 || s.meta != before || len(s.rows) != 1 {
		t.Errorf("the advice stands %d times in %v, want once; meta row %+v, was %+v, %d rows", n, err, s.meta, before, len(s.rows))
	}
	d = memDomain()
	d.Epoch = d.Epoch.In(time.FixedZone("", 3600))
	takeIn(t, leased(s), d)
}

// A counter that went past the maximum was the end of a scheme that cut it down to size.
func TestAssignWithACounterPastTheMaximum(t *testing.T) {
	for _, open := range []func(leasestore.Store) Assigner{leased, auto} {
		s := newMemStore()
		s.put(held(1, 900, "other", 1001))
		s.pin(1 << 40)
		refused(t, open(s), ErrWorkersExhausted)
		s.put(leasestore.Row{WorkerID: 2, Fence: 900})
		s.pin(1 << 40)
		wantGrant(t, take(t, open(s)), 2, 901, 1030)
	}
	s := newMemStore()
	for want := range int64(4) {
		wantGrant(t, take(t, leased(s)), want, 1, 1030)
	}
	wantRetry(t, refused(t, leased(s), ErrWorkersExhausted, "all 4 have been given out"), time.Second)
}

func TestAssignNamesAllMistakesOfItsConfig(t *testing.T) {
	cfg := LeaseConfig{Window: -time.Second, MaxLead: -time.Minute, MaxSkew: -time.Hour, FirstWorkerID: -1}
	refused(t, Fenced(nil, nil, "", cfg), nil, "store nil", "source nil", `owner ""`, "Window -1s", "MaxLead -1m0s", "MaxSkew -1h0m0s")
	refused(t, Leased(newMemStore(), LeaseConfig{FirstWorkerID: -1}), ErrWorkerOutOfRange, "-1 from FirstWorkerID", "0 to 3")
	for _, number := range []int64{-1, 4} {
		refused(t, Fenced(newMemStore(), Static(number), "host", shortWindow), ErrWorkerOutOfRange, "0 to 3")
	}
	refused(t, Fenced(newMemStore(), given{Guarantee: GuaranteeSticky}, "host", shortWindow), nil, "source grants a worker ID that is sticky, allowed: derived")
	d := memDomain()
	d.Layout.SequenceBits = 40
	if _, err := Leased(newMemStore(), shortWindow).Assign(t.Context(), d); err == nil {
		t.Error("no error for a layout of 64 bits")
	}
}

// given is a source of Fenced that does not check its worker ID.
type given Grant

func (g given) Assign(context.Context, Domain) (Lease, error) { return derivedLease{Grant(g)}, nil }

func TestAssignEndsWithItsContext(t *testing.T) {
	s := newMemStore()
	ctx, cancel := context.WithCancel(t.Context())
	s.onSwap = func(_, _ leasestore.Row, _ func() bool) (bool, error) {
		cancel()
		return false, ctx.Err()
	}
	for range 2 { // in the middle, and before it begins
		if _, err := leased(s).Assign(ctx, memDomain()); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "1 rows") {
			t.Errorf("err = %v, want context.Canceled, and no blame", err)
		}
	}
	// A start that loses every row to others until its time is over says so.
	s = newMemStore()
	ctx, cancel = context.WithCancel(t.Context())
	s.onSwap = func(_, next leasestore.Row, _ func() bool) (bool, error) {
		s.rows[next.WorkerID] = held(next.WorkerID, 1, "other", 2000)
		cancel()
		return false, nil
	}
	_, err := leased(s).Assign(ctx, memDomain())
	wantError(t, err, context.Canceled, "1 rows lost to processes that start now")
	if strings.Contains(err.Error(), "exhausted") {
		t.Error(err)
	}
}

// Rows that were used far ahead of the clock do not hide others from a claim, although they expired
// first.
func TestLeasedReadsOnPastRowsFarAhead(t *testing.T) {
	s := newMemStore()
	d := manyWorkers()
	for worker := range int64(5000) {
		s.rows[worker] = leasestore.Row{WorkerID: worker, Version: 1, Owner: "gone", Fence: 1 << 26, Expires: memTime(worker % 700)}
	}
	s.rows[4999] = leasestore.Row{WorkerID: 4999, Version: 1, Owner: "gone", Fence: 5, Expires: memTime(999)}
	s.pin(5000)
	s.meta.Layout = d.Layout
	if w := takeIn(t, leased(s), d).Grant().WorkerID; w != 4999 {
		t.Errorf("worker %d, want 4999", w)
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
		"as far as a restart goes":  {"A", shortWindow, memStart + lead, 0},
		"a unit further":            {"A", shortWindow, memStart + lead + 1, time.Second},
		"a minute further":          {"A", shortWindow, memStart + lead + 60, time.Minute},
		"as configured":             {"A", LeaseConfig{Window: shortWindow.Window, MaxLead: time.Hour}, memStart + 3600, 0},
		"further than configured":   {"A", LeaseConfig{Window: shortWindow.Window, MaxLead: time.Hour}, memStart + 3607, 7 * time.Second},
		"where none is replaced":    {"", shortWindow, memStart + 24*3600, 0},
		"further than a day, there": {"", shortWindow, memStart + 24*3600 + 9, 9 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			for kind, open := range map[string]func(leasestore.Store) Assigner{
				"Fenced": func(s leasestore.Store) Assigner { return Fenced(s, Static(0), "orders-0", row.cfg) },
				"Leased": func(s leasestore.Store) Assigner { return Leased(s, row.cfg) },
			} {
				s := newMemStore()
				s.put(leasestore.Row{WorkerID: 0, Fence: row.fence, Identity: row.identity})
				s.pin(4) // no new ones
				s.status.Identity, s.meta.Identity = row.identity, row.identity
				a := clocked(open(s))
				if row.after > 0 {
					wantRetry(t, refused(t, a, ErrWorkerAheadOfClock, "MaxLead"), row.after)
				} else if first := take(t, a).Grant().First; first != row.fence+1 {
					t.Errorf("%s: grant from %d, want it above the fence", kind, first)
				}
			}
		})
	}
	// A fence centuries ahead, such as by mistake, is not asked for again at once.
	d, s := memDomain(), newMemStore()
	d.Layout.DeltaBits = 40
	s.put(leasestore.Row{WorkerID: 0, Fence: 1 << 39})
	s.meta.Layout = d.Layout
	_, err := fenced(s, 0, "orders-0").Assign(t.Context(), d)
	wantError(t, err, ErrWorkerAheadOfClock, "MaxLead")
	wantRetry(t, err, math.MaxInt64)
}

func TestFirstWorkerIDBoundsANamespace(t *testing.T) {
	s := newMemStore()
	cfg := LeaseConfig{Window: shortWindow.Window, FirstWorkerID: 2}
	wantGrant(t, take(t, clocked(Leased(s, cfg))), 2, 1, 1030)
	wantGrant(t, take(t, clocked(Auto(s, cfg))), 3, 1, 1030)
	refused(t, clocked(Leased(s, cfg)), ErrWorkersExhausted, "all 2")
	refused(t, leased(s), ErrLayoutMismatch, "FirstWorkerID 2, and here it is", "FirstWorkerID 0;")
	for _, number := range []int64{1, 4} {
		refused(t, clocked(Fenced(s, given{WorkerID: number}, "host", cfg)), ErrWorkerOutOfRange, "allowed with FirstWorkerID 2: 2 to 3")
	}
	wantGrant(t, take(t, clocked(Leased(newMemStore(), LeaseConfig{Window: shortWindow.Window, FirstWorkerID: 3}))), 3, 1, 1030)
	refused(t, Leased(newMemStore(), LeaseConfig{Window: shortWindow.Window, FirstWorkerID: 4}), ErrWorkerOutOfRange, "FirstWorkerID")
}

// Fenced takes any number. The counter passes its rows without the pauses of a competition, and
// nothing is created in vain.
func TestLeasedCountsRowsOfFenced(t *testing.T) {
	s := newMemStore()
	for worker := range int64(300) {
		s.rows[worker] = held(worker, 1, "occupied", 5000)
	}
	a := leased(s)
	pauses, swaps := 0, 0
	s.onSwap = func(_, _ leasestore.Row, do func() bool) (bool, error) {
		swaps++
		return do(), nil
	}
	a.(*leaser).pause = func(context.Context, int) { pauses++ }
	if w := takeIn(t, a, manyWorkers()).Grant().WorkerID; w != 300 {
		t.Errorf("worker %d, want 300", w)
	}
	if len(s.rows) != 301 || s.meta.NextWorkerID != 301 || pauses != patience-1 || swaps != 300+patience {
		t.Errorf("%d rows, %d counted, %d pauses, %d swaps; want 301, %d and %d", len(s.rows), s.meta.NextWorkerID, pauses, swaps, patience-1, 300+patience)
	}
}

// A claim creates rows for others if it has lost rows to them and the store can do so in one
// operation. Rows that may be missing are not counted: no worker ID is burnt.
func TestLeasedCreatesSpareRows(t *testing.T) {
	for _, row := range []struct {
		losses, spare int
		creator       bool
		fault         error
	}{
		{0, 0, true, nil}, {1, spares, true, nil}, {2, spares, true, nil}, {2, 0, false, nil}, {1, 0, true, errStore},
	} {
		s := newMemStore()
		lost := 0
		s.onSwap = func(_, next leasestore.Row, do func() bool) (bool, error) {
			switch {
			case next.Token != "" && lost < row.losses:
				lost++
				s.rows[next.WorkerID] = held(next.WorkerID, 1, "other", 2000)
				s.meta.NextWorkerID = next.WorkerID + 1
				return false, nil
			case next.WorkerID == 4:
				return do(), row.fault
			}
			return do(), nil
		}
		a := leased(s)
		if row.creator {
			a = leased(creatingStore{s, t})
		}
		worker := takeIn(t, hasty(a), manyWorkers()).Grant().WorkerID
		if next := worker + 1 + int64(row.spare); worker != int64(row.losses) || s.meta.NextWorkerID != next || row.fault == nil && int64(len(s.rows)) != next {
			t.Errorf("%+v: worker %d, %d counted, %d rows", row, worker, s.meta.NextWorkerID, len(s.rows))
		}
		for w := worker + 1; w < s.meta.NextWorkerID; w++ {
			if got, want := s.rows[w], (leasestore.Row{WorkerID: w, Version: 1, Expires: memTime(memStart - 60)}); got != want {
				t.Errorf("row %+v, want %+v", got, want)
			}
		}
	}
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

// A namedStore is the namespace orders, beside others.
type namedStore struct {
	*memStore
	others map[string]leasestore.Meta
}

func (s *namedStore) Namespace() string { return "orders" }

func (s *namedStore) Namespaces(context.Context) (map[string]leasestore.Meta, error) {
	if s.others == nil {
		return nil, errLostAnswer
	}
	all := maps.Clone(s.others)
	if s.meta.Version != 0 {
		all["orders"] = s.meta
	}
	return all, nil
}

// movingStore is at another server from the nth look at it on, or does not answer any more.
type movingStore struct {
	*memStore
	looks int
	fault error
}

func (m *movingStore) Status(ctx context.Context) (leasestore.Status, error) {
	m.looks--
	status, err := m.memStore.Status(ctx)
	status.Identity = "A"
	if m.looks < 0 {
		status.Identity, err = "B", m.fault
	}
	return status, err
}

func TestAssignOnAServerThatChanges(t *testing.T) {
	s := &movingStore{newMemStore(), 1, nil}
	refused(t, leased(s), ErrQuarantined, `"A"`, `"B"`, "worker 0") // the claim begins again, on the other server

	s = &movingStore{newMemStore(), 1, nil}
	s.put(leasestore.Row{WorkerID: 0, Identity: "A"}, leasestore.Row{WorkerID: 1, Identity: "A", Fence: memStart + 20})
	s.meta.Identity = "A"
	refused(t, leased(s), ErrQuarantined, "worker ")
	if held := slices.DeleteFunc([]leasestore.Row{s.rows[0], s.rows[1]}, leasestore.Row.Free); len(held) != 1 {
		t.Errorf("%d rows held, want the quarantined one alone", len(held))
	}

	for looks := range 2 {
		s = &movingStore{newMemStore(), looks, errStore}
		refused(t, leased(s), errStore, "read the status")
		if !s.rows[0].Free() {
			t.Errorf("row %+v, want it free", s.rows[0])
		}
	}

	s = &movingStore{newMemStore(), 3, nil}
	l := take(t, fenced(s, 0, "orders-0"))
	before := l.Grant()
	wantError(t, l.Renew(t.Context(), 1010, 1100), ErrWorkerRowLost, `"B"`)
	if l.Grant() != before {
		t.Errorf("grant %+v, was %+v", l.Grant(), before)
	}
}
