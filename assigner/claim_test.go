package assigner

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/test/testkit"
)

// A setting is an assigner and its store before a claim at delta 1000. The window is 30 units.
type setting struct {
	open   func(leasestore.Store) Assigner
	rows   []leasestore.Row
	next   int64           // worker IDs that are given out, at least the ones with rows
	change func(*memStore) // nil: no other change
}

func (c setting) store() *memStore {
	s := newMemStore()
	for _, row := range c.rows {
		s.rows[row.WorkerID] = row
		c.next = max(c.next, row.WorkerID+1)
	}
	if c.next > 0 {
		s.pin(c.next)
	}
	if c.change != nil {
		c.change(s)
	}
	return s
}

// free returns a row without a holder, which has expired.
func free(worker, fence int64) leasestore.Row {
	return leasestore.Row{WorkerID: worker, Version: 1, Fence: fence, Owner: "gone"}
}

// on returns a func that opens an assigner with a window of 30 and more settings.
func on(open func(leasestore.Store, LeaseConfig) Assigner, cfg LeaseConfig) func(leasestore.Store) Assigner {
	cfg.Window = shortWindow.Window
	return func(s leasestore.Store) Assigner { return clocked(open(s, cfg)) }
}

// fencedBy returns a func that opens Fenced for an owner.
func fencedBy(owner string, source Assigner) func(leasestore.Store, LeaseConfig) Assigner {
	return func(s leasestore.Store, cfg LeaseConfig) Assigner {
		cfg.Owner = owner
		return Fenced(s, source, cfg)
	}
}

// server sets the identity of the server, to which the rows belong, and the fence of row 0.
func server(identity string, fence int64) func(*memStore) {
	return func(s *memStore) {
		s.pin(4) // no new ones
		s.rows[0] = leasestore.Row{WorkerID: 0, Version: 1, Owner: "gone", Fence: fence, Identity: identity}
		s.status.Identity, s.meta.Identity = identity, identity
	}
}

// clocks sets the clock of the store and the time of its last write.
func clocks(now, seen int64) func(*memStore) {
	return func(s *memStore) {
		s.status.Now, s.status.Seen = memTime(now).In(time.FixedZone("", 3600)), memTime(seen)
	}
}

func faulty(faults ...string) func(*memStore) {
	return func(s *memStore) { s.status.Faults = faults }
}

func TestAssignTakes(t *testing.T) {
	type rows = []leasestore.Row
	some := rows{free(0, 1500), free(1, 900), held(2, 800, "other", 1001)}
	early := leasestore.Row{WorkerID: 0, Version: 1, Fence: 900, Owner: "gone", Expires: memTime(1060)}
	hour, second := LeaseConfig{MaxLead: time.Hour}, LeaseConfig{FirstWorkerID: 2}
	mine := on(fencedBy("me", Static(0)), LeaseConfig{})
	for name, tt := range map[string]struct {
		setting
		worker, first, limit int64
	}{
		"a new one":                              {setting{leased, nil, 0, nil}, 0, 1, 1030},
		"a new one, with the default window":     {setting{func(s leasestore.Store) Assigner { return clocked(Leased(s, LeaseConfig{})) }, nil, 0, nil}, 0, 1, 1120},
		"a new one, with a window below a unit":  {setting{func(s leasestore.Store) Assigner { return clocked(Leased(s, LeaseConfig{Window: 1})) }, nil, 0, nil}, 0, 1, 1001},
		"the first of the namespace":             {setting{on(Leased, second), nil, 0, nil}, 2, 1, 1030},
		"the first of the namespace, by Auto":    {setting{on(Auto, second), nil, 0, nil}, 2, 1, 1030},
		"one used in the past":                   {setting{leased, rows{free(2, 500)}, 0, nil}, 2, 501, 1030},
		"one used up to now":                     {setting{leased, rows{free(2, 1000)}, 0, nil}, 2, 1001, 1030},
		"one used ahead of the clock":            {setting{leased, rows{free(2, 5000)}, 0, nil}, 2, 5001, 5001},
		"one whose fence is in the past":         {setting{leased, some, 0, nil}, 1, 901, 1030},
		"the nearest fence":                      {setting{leased, rows{free(0, 1500), free(1, 1200)}, 0, nil}, 1, 1201, 1201},
		"one in the past, not a unit ahead":      {setting{leased, rows{free(0, 1001), free(1, 1000)}, 0, nil}, 1, 1001, 1030},
		"a new one, as none is free":             {setting{leased, some[2:], 0, nil}, 3, 1, 1030},
		"one that expired":                       {setting{leased, rows{held(0, 900, "other", 1000)}, 0, nil}, 0, 901, 1030},
		"none beyond the layout":                 {setting{leased, rows{free(4, 1), free(0, 2000)}, 0, nil}, 0, 2001, 2001},
		"a free one after the counter has ended": {setting{leased, rows{free(2, 900)}, 1 << 40, nil}, 2, 901, 1030},
		"Auto: a new one":                        {setting{auto, some, 0, nil}, 3, 1, 1030},
		"Auto: a free one, as none is new":       {setting{auto, append(rows{held(3, 1, "other", 1001)}, some...), 0, nil}, 1, 901, 1030},
		"Auto: a free one after the counter":     {setting{auto, rows{free(2, 900)}, 1 << 40, nil}, 2, 901, 1030},
		"Auto: a spare one after the counter":    {setting{auto, rows{free(0, 500), {WorkerID: 1, Version: 1, Fence: 5000}}, 1 << 40, nil}, 1, 5001, 5001},
		"the nearest fence, not a spare one":     {setting{leased, rows{free(0, 500), {WorkerID: 1, Version: 1, Fence: 5000}}, 0, nil}, 0, 501, 1030},
		"Auto: a spare one": {setting{auto, rows{{Version: 1, Token: "recovering-"}, {WorkerID: 1, Version: 1}, free(2, 1)}, 0, nil},
			1, 1, 1030},
		"Fenced: another owner's that expired":     {setting{mine, rows{held(0, 1030, "other", 1000)}, 0, nil}, 0, 1031, 1031},
		"Fenced: its own that is held":             {setting{mine, rows{held(0, 1030, "me", 2000)}, 0, nil}, 0, 1031, 1031},
		"Fenced: one released by a clock ahead":    {setting{mine, rows{early}, 0, nil}, 0, 901, 1030},
		"with clocks that differ by MaxSkew":       {setting{leased, nil, 0, clocks(memStart-61, 0)}, 0, 1, 1030},
		"with a store that is ahead by MaxSkew":    {setting{leased, nil, 0, clocks(memStart+61, 0)}, 0, 1, 1030},
		"with a last write that is ahead":          {setting{leased, nil, 0, clocks(memStart, memStart+61)}, 0, 1, 1030},
		"with a fault that is allowed":             {setting{on(Leased, LeaseConfig{AllowUndurable: true}), nil, 0, faulty("sync_binlog is 0")}, 0, 1, 1030},
		"a fence as far ahead as a restart goes":   {setting{leased, nil, 0, server("A", 1075)}, 0, 1076, 1076},
		"a fence as far ahead as configured":       {setting{on(Leased, hour), nil, 0, server("A", 4600)}, 0, 4601, 4601},
		"a fence as far ahead as configured there": {setting{on(Leased, hour), nil, 0, server("", 4600)}, 0, 4601, 4601},
		"a fence a day ahead, if none is replaced": {setting{leased, nil, 0, server("", 87_400)}, 0, 87_401, 87_401},
		"Fenced: a fence as far as a restart goes": {setting{mine, nil, 0, server("A", 1075)}, 0, 1076, 1076},
		"a fence that the namespace's one has ahead": {setting{leased, nil, 0, func(s *memStore) {
			server("A", 9075)(s)
			s.meta.Fence = 9000
		}}, 0, 9076, 9076},
	} {
		t.Run(name, func(t *testing.T) {
			for _, order := range orders {
				s := tt.store()
				before := s.rows[tt.worker].Version
				a := tt.open(s)
				a.(*leaser).shuffle = order
				want := Grant{WorkerID: tt.worker, First: tt.first, Last: tt.limit, Guarantee: GuaranteeFenced, Reusable: true, RenewWithin: a.(*leaser).cfg.Window}
				want.RenewWithin = max(want.RenewWithin, time.Second)
				if len(s.status.Faults) > 0 {
					want.Guarantee = GuaranteeLossy
				}
				if got := take(t, a).Grant(); got != want {
					t.Errorf("grant %+v, want %+v", got, want)
				}
				if got := s.rows[tt.worker]; got.Version != before+1 || got.Fence != tt.limit || got.Token == "" || got.Owner == "" || got.Holder == "" || got.Expires.Sub(s.status.Now) != 2*max(a.(*leaser).cfg.Window, time.Second) {
					t.Errorf("row %+v, want version %d, fence %d, a token, an owner, and two windows", got, before+1, tt.limit)
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

// Processes that start at once try different rows: the fences of a window, and the past ones, are
// alike.
func TestAssignTriesRowsInRandomOrder(t *testing.T) {
	for _, rows := range [][]leasestore.Row{{free(0, 5), free(1, 900)}, {free(0, 1001), free(1, 1030)}} {
		for want, order := range orders {
			a := leased(setting{rows: rows}.store())
			a.(*leaser).shuffle = order
			if got := take(t, a).Grant().WorkerID; got != int64(want) {
				t.Errorf("worker %d, want %d", got, want)
			}
		}
	}
}

// A claim prefers a row that the generator can use at once, then a new worker ID, then the row for
// which it waits least. Rows 0 to 3 have the fences.
func TestAssignPrefersTheRowThatCanBeUsedFirst(t *testing.T) {
	const used, fresh = 4, 2 // the worker IDs that are given out: all, or two
	for name, tt := range map[string]struct {
		open     func(leasestore.Store) Assigner
		fences   []int64 // -1: a row of an earlier server, whose deltas may go up to the bound 1350
		next     int64
		maxAhead int64
		want     int64
	}{
		"keeps to the clock: a row in the past":                  {leased, []int64{1001, 1000}, fresh, 0, 1},
		"keeps to the clock: a new one, not one unit of waiting": {leased, []int64{1002, 1001}, fresh, 0, 2},
		"runs ahead a little: a row within reach":                {leased, []int64{1020, 1010}, fresh, 10, 1},
		"runs ahead a little: a new one":                         {leased, []int64{1020, 1011}, fresh, 10, 2},
		"runs ahead at will: the nearer row, not a new one":      {leased, []int64{1070, 1031}, fresh, math.MaxInt64, 1},
		"all are given out: the shortest wait":                   {leased, []int64{1400, 1302, 1301, 1400}, used, 0, 2},
		"after a failover: a row of the present server":          {leased, []int64{-1, 1000}, fresh, 0, 1},
		"after a failover: the shortest wait":                    {leased, []int64{-1, 1352}, fresh, 0, 0},
		"all are given out: a wait below the bound":              {leased, []int64{-1, 1302, -1, 1301}, used, 0, 3},
		"a new one before a wait, by Auto":                       {auto, []int64{1000, 1001}, fresh, 0, 2},
		"Auto, all are given out: a row in the past":             {auto, []int64{1300, 1000, 1301, 1302}, used, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			for _, order := range orders {
				s := newMemStore()
				s.pin(tt.next)
				s.status.Identity, s.meta.Identity = "A", "A"
				if slices.Contains(tt.fences, -1) {
					s.meta.Quarantine = 1350
				}
				for i, fence := range tt.fences {
					row := free(int64(i), fence)
					if row.Identity = term(s.meta); fence < 0 {
						row.Identity, row.Fence = "B", 0
					}
					s.rows[int64(i)] = row
				}
				a := tt.open(s).(*leaser)
				a.shuffle, a.cfg.MaxLead = order, time.Hour
				d := memDomain()
				d.MaxAhead = tt.maxAhead
				if got := takeIn(t, a, d).Grant().WorkerID; got != tt.want {
					t.Errorf("worker %d, want %d", got, tt.want)
				}
			}
		})
	}
}

func TestAssignFails(t *testing.T) {
	type rows = []leasestore.Row
	hour, second := LeaseConfig{MaxLead: time.Hour}, LeaseConfig{FirstWorkerID: 2}
	mine := on(fencedBy("me", Static(0)), LeaseConfig{})
	all := rows{held(0, 1, "a", 1001), held(1, 1, "a", 1001), held(2, 1, "a", 1001), held(3, 1, "a", 1001)}
	const wrong = "it is 2026-01-01T00:16:40Z on this host, and 2026-01-01T"
	for name, tt := range map[string]struct {
		setting
		err   error
		words string
		after time.Duration // for which the error passes; 0: it need not
	}{
		"Leased: all are held":                  {setting{leased, all, 0, nil}, ErrWorkersExhausted, "all 4 have been given out", time.Second},
		"Auto: all are held":                    {setting{auto, all, 0, nil}, ErrWorkersExhausted, "all 4 have been given out", time.Second},
		"the counter is past the maximum":       {setting{leased, all[:1], 1 << 40, nil}, ErrWorkersExhausted, "all 4", time.Second},
		"all from FirstWorkerID on are held":    {setting{on(Leased, second), all[2:], 0, func(s *memStore) { s.meta.FirstWorkerID = 2 }}, ErrWorkersExhausted, "all 2", time.Second},
		"another FirstWorkerID":                 {setting{on(Leased, second), all[2:], 0, nil}, ErrLayoutMismatch, "FirstWorkerID 0, and here it is", 0},
		"FirstWorkerID beyond the layout":       {setting{on(Leased, LeaseConfig{FirstWorkerID: 4}), nil, 0, nil}, ErrWorkerOutOfRange, "4 from FirstWorkerID", 0},
		"a negative FirstWorkerID":              {setting{on(Leased, LeaseConfig{FirstWorkerID: -1}), nil, 0, nil}, ErrWorkerOutOfRange, "-1 from FirstWorkerID", 0},
		"a source below FirstWorkerID":          {setting{on(fencedBy("me", given{WorkerID: 1}), second), nil, 0, nil}, ErrWorkerOutOfRange, "allowed with FirstWorkerID 2: 2 to 3", 0},
		"a source beyond the layout":            {setting{on(fencedBy("me", given{WorkerID: 4}), LeaseConfig{}), nil, 0, nil}, ErrWorkerOutOfRange, "4 from the source of Fenced", 0},
		"a source that fails":                   {setting{on(fencedBy("me", Static(-1)), LeaseConfig{}), nil, 0, nil}, ErrWorkerOutOfRange, "-1 from Static", 0},
		"a source without a lease":              {setting{on(fencedBy("me", nothing{}), LeaseConfig{}), nil, 0, nil}, ErrWorkerUnknown, "neither a lease nor an error", 0},
		"a source with leases":                  {setting{on(fencedBy("me", given{Guarantee: GuaranteeSticky}), LeaseConfig{}), nil, 0, nil}, nil, "source grants a worker ID that is sticky, allowed: derived", 0},
		"another owner":                         {setting{mine, all[:1], 0, nil}, ErrWorkerInUse, `row 0 is held by "a" () until 2026-01-01T00:16:41Z by the store's clock, here "me"`, 0},
		"a clock ahead of the store":            {setting{leased, nil, 0, clocks(memStart-62, 0)}, leasestore.ErrClockSkew, wrong + "00:15:38Z in the store or at its last write, allowed: a difference of 1m0s", 0},
		"a clock behind the store":              {setting{leased, nil, 0, clocks(memStart+62, 0)}, leasestore.ErrClockSkew, wrong + "00:17:42Z in the store", 0},
		"a clock behind the last write":         {setting{leased, nil, 0, clocks(memStart, memStart+62)}, leasestore.ErrClockSkew, wrong + "00:17:42Z in the store or at its last write", 0},
		"a fault":                               {setting{leased, nil, 0, faulty("sync_binlog is 0")}, leasestore.ErrNotDurable, "sync_binlog is 0; correct the settings, or set AllowUndurable", 0},
		"two faults":                            {setting{leased, nil, 0, faulty("sync_binlog is 0", "read_only is on")}, leasestore.ErrNotDurable, "sync_binlog is 0; read_only is on", 0},
		"a fence further than a restart goes":   {setting{leased, nil, 0, server("A", 1076)}, ErrWorkerAheadOfClock, "MaxLead", time.Second},
		"a fence a minute further":              {setting{leased, nil, 0, server("A", 1135)}, ErrWorkerAheadOfClock, "MaxLead", time.Minute},
		"a fence further than configured":       {setting{on(Leased, hour), nil, 0, server("A", 4607)}, ErrWorkerAheadOfClock, "MaxLead", 7 * time.Second},
		"a fence further than configured there": {setting{on(Leased, hour), nil, 0, server("", 4607)}, ErrWorkerAheadOfClock, "MaxLead", 7 * time.Second},
		"a fence further than a day":            {setting{leased, nil, 0, server("", 87_409)}, ErrWorkerAheadOfClock, "MaxLead", 9 * time.Second},
		"Fenced: a fence that is further ahead": {setting{mine, nil, 0, server("A", 1076)}, ErrWorkerAheadOfClock, "free worker IDs are more than 1m15s ahead", time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			s := tt.store()
			rows := maps.Clone(s.rows)
			err := refused(t, tt.open(s), tt.err, tt.words)
			if tt.after > 0 {
				wantRetry(t, err, tt.after)
			}
			if !maps.Equal(s.rows, rows) {
				t.Errorf("rows %+v, were %+v", s.rows, rows)
			}
		})
	}
	// A fence centuries ahead, such as by mistake, is not asked for again at once.
	d, s := memDomain(), newMemStore()
	d.Layout.DeltaBits = 40
	s.rows[0] = free(0, 1<<39)
	s.pin(1)
	s.meta.Layout = d.Layout
	_, err := mine(s).Assign(t.Context(), d)
	wantError(t, err, ErrWorkerAheadOfClock)
	wantRetry(t, err, math.MaxInt64)
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
	s.meta.Epoch = s.meta.Epoch.In(time.FixedZone("", 3600))
	take(t, leased(s))
	d = memDomain()
	d.Epoch = d.Epoch.In(time.FixedZone("", 3600))
	takeIn(t, leased(s), d)
}

func TestAssignNamesAllMistakesOfItsConfig(t *testing.T) {
	cfg := LeaseConfig{Window: -time.Second, MaxLead: -time.Minute, MaxSkew: -time.Hour, FirstWorkerID: -1}
	refused(t, Fenced(nil, nil, cfg), nil, "store nil", "source nil", `Owner ""`, "Window -1s", "MaxLead -1m0s", "MaxSkew -1h0m0s")
	cfg = LeaseConfig{Window: maxSpan + 1, MaxLead: maxSpan + 2, MaxSkew: maxSpan + 3}
	refused(t, Leased(newMemStore(), cfg), nil, "Window 87600h0m0.000000001s", "MaxLead 87600h0m0.000000002s", "MaxSkew 87600h0m0.000000003s")
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

// A paged store records the largest n of Expired.
type paged struct {
	*memStore
	most int
}

func (s *paged) Expired(ctx context.Context, n int) ([]leasestore.Row, error) {
	s.most = max(s.most, n)
	return s.memStore.Expired(ctx, n)
}

// While there are new worker IDs, Auto reads no more rows to find one to reuse: over remote leases,
// an answer has no room for all rows of a large namespace.
func TestAutoReadsTheFirstRowsAlone(t *testing.T) {
	for name, tt := range map[string]struct {
		open func(leasestore.Store, LeaseConfig) Assigner
		next int64
		most int
	}{"Auto": {Auto, 0, listed}, "Auto without new ones": {Auto, 4, 8 * listed}, "Leased": {Leased, 0, 8 * listed}} {
		s := &paged{memStore: newMemStore()}
		for worker := range int64(listed) {
			s.rows[100+worker] = free(100+worker, 1)
		}
		s.pin(tt.next)
		_, _ = tt.open(s, shortWindow).Assign(t.Context(), memDomain()) // no worker ID is left in one case
		if s.most != tt.most {
			t.Errorf("%s has read %d rows, want %d", name, s.most, tt.most)
		}
	}
}

// After a failover the rows that expired first may all be of the former server. A claim reads past
// them: otherwise each would take a new worker ID.
func TestClaimReadsPastRowsInQuarantine(t *testing.T) {
	s := newMemStore()
	d := memDomain()
	d.Layout.WorkerBits = 17
	s.pin(1000)
	s.meta.Layout = d.Layout
	s.status.Identity, s.meta.Identity, s.meta.Quarantine = "B", "B", 2000
	for worker := range int64(listed) {
		s.rows[worker] = free(worker, 1)
	}
	row := free(listed, 1)
	row.Identity = term(s.meta)
	s.rows[listed] = row
	if w := takeIn(t, leased(s), d).Grant().WorkerID; w != listed {
		t.Errorf("worker %d, want %d", w, listed)
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
	// A claim that succeeds in the end is no error.
	s = newMemStore()
	ctx, cancel = context.WithCancel(t.Context())
	lost := false
	s.onSwap = func(_, _ leasestore.Row, do func() bool) (bool, error) {
		if !lost {
			lost = true
			return false, nil
		}
		cancel()
		return do(), nil
	}
	if _, err := hasty(leased(s)).Assign(ctx, memDomain()); err != nil {
		t.Error(err)
	}
}

// Rows that were used far ahead of the clock do not hide others from a claim, although they expired
// first.
func TestLeasedReadsOnPastRowsFarAhead(t *testing.T) {
	s := newMemStore()
	d := manyWorkers()
	for worker := range int64(5000) {
		s.rows[worker] = free(worker, 1<<26)
	}
	s.rows[4999] = free(4999, 5)
	s.pin(5000)
	s.meta.Layout = d.Layout
	if w := takeIn(t, leased(s), d).Grant().WorkerID; w != 4999 {
		t.Errorf("worker %d, want 4999", w)
	}
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

// A claim that ends after it has created rows for others leaves them uncounted. The next one counts
// them all.
func TestLeasedCountsRowsOfAClaimThatEnded(t *testing.T) {
	s := newMemStore()
	s.rows[0] = held(0, 1, "ended", 5000)
	for worker := range int64(100) {
		s.rows[1+worker] = free(1+worker, 0)
	}
	if w := takeIn(t, hasty(leased(s)), manyWorkers()).Grant().WorkerID; w == 0 || w > 100 || s.meta.NextWorkerID != 101 {
		t.Errorf("worker %d, %d counted, want one of the rows and 101", w, s.meta.NextWorkerID)
	}
}

// A claim creates rows for others if it has lost rows to them and the store can do so in one
// operation. Rows that may be missing are not counted: no worker ID is burnt.
func TestLeasedCreatesSpareRows(t *testing.T) {
	for _, row := range []struct {
		domain             Domain
		old, losses, spare int
		creator            bool
		fault              error
	}{
		{manyWorkers(), 0, 0, 0, true, nil},
		{manyWorkers(), 0, 1, spares, true, nil},
		{manyWorkers(), 0, 2, spares, true, nil},
		{manyWorkers(), 0, 2, 0, false, nil},
		{manyWorkers(), 0, 1, 0, true, errStore},
		{manyWorkers(), 2, 1, 0, true, nil},
		{memDomain(), 0, 1, 2, true, nil},
		{memDomain(), 0, 3, 0, true, nil},
	} {
		s := newMemStore()
		for worker := range int64(row.old) {
			s.rows[worker] = free(worker, 0)
		}
		s.pin(int64(row.old))
		s.meta.Layout = row.domain.Layout
		lost := 0
		s.onSwap = func(_, next leasestore.Row, do func() bool) (bool, error) {
			switch {
			case next.Token != "" && lost < row.losses:
				lost++
				s.rows[next.WorkerID] = held(next.WorkerID, 1, "other", 2000)
				s.meta.NextWorkerID = max(s.meta.NextWorkerID, next.WorkerID+1)
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
		a.(*leaser).shuffle = orders[0]
		worker := takeIn(t, hasty(a), row.domain).Grant().WorkerID
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

func (s creatingStore) CreateFree(ctx context.Context, rows []leasestore.Row, ttl time.Duration) (bool, error) {
	if len(rows) == 0 {
		s.Error("CreateFree of no rows")
	}
	for _, row := range rows {
		if _, err := s.Swap(ctx, leasestore.Row{}, row, ttl); err != nil {
			return false, err
		}
	}
	return true, nil
}

// Goroutines that share an assigner take grants that have no delta in common.
func TestAssignBySeveralGenerators(t *testing.T) {
	for name, open := range map[string]func(leasestore.Store) Assigner{
		"Leased": leased,
		"Fenced": func(s leasestore.Store) Assigner {
			return clocked(Fenced(s, Static(2), LeaseConfig{Owner: "orders-2", Window: shortWindow.Window, MaxLead: 24 * time.Hour}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMemStore()
			s.status.Lossy = name == "Leased"
			a := hasty(open(s))
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

// Extra belongs to a later release, which uses the store as well.
func TestExtraIsKept(t *testing.T) {
	s := newMemStore()
	s.pin(1)
	s.rows[0] = free(0, 5)
	want, wantMeta := s.rows[0].Extra, s.meta.Extra
	kept := func(after string) {
		t.Helper()
		if row, meta := s.rows[0].Extra, s.meta.Extra; row != want || meta != wantMeta {
			t.Errorf("after %s: %q, %q; want %q, %q", after, row, meta, want, wantMeta)
		}
	}
	change := func() {
		row := s.rows[0]
		want, wantMeta = want+"row ", wantMeta+"meta "
		row.Extra, s.meta.Extra = want, wantMeta
		s.rows[0] = row
	}
	change()
	l := take(t, leased(s))
	kept("a claim")
	testkit.Must(t, extend(t.Context(), l, 1000, 1100))
	kept("a renewal")
	testkit.Must(t, l.End(t.Context(), Ending{Released: true, Used: 1000}))
	kept("a release")
	take(t, clocked(Fenced(s, Static(0), ownedBy("orders-0"))))
	kept("a claim by Fenced")
	_, err := leasestore.Revoke(t.Context(), s, leasestore.Revocation{WorkerID: 0})
	testkit.Must(t, err)
	kept("Revoke")
	change()
	testkit.Must(t, leasestore.Recover(t.Context(), s, leasestore.Recovery{Lead: time.Minute}))
	kept("Recover")
	_, err = leasestore.Horizon(t.Context(), s)
	testkit.Must(t, err)
	s.status.Identity = "another server"
	refused(t, leased(s), ErrQuarantined)
	kept("Horizon and the start of a quarantine")
}

// A namedStore is the namespace orders, beside others.
type namedStore struct {
	*memStore
	others map[string]leasestore.Meta
}

func (s *namedStore) Status(ctx context.Context) (leasestore.Status, error) {
	status, err := s.memStore.Status(ctx)
	status.Store, status.Namespace = "memory", "orders"
	return status, err
}

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
				a := Leased(s, cfg).(*leaser)
				a.clock = func() instant { return instant{s.status.Now, s.status.Now} }
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
