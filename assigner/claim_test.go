package assigner

import (
	"context"
	"errors"
	"fmt"
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
			wantGrant(t, take(t, clocked(Leased(s, LeaseConfig{}))), 2, row.first, row.limit)
			if got := s.rows[2]; got.Version != 2 || got.Fence != row.limit || got.Token == "" || !got.Expires.Equal(memTime(1060)) {
				t.Errorf("row = %+v, want version 2, fence %d, a token, and two windows", got, row.limit)
			}
		})
	}
}

func TestAssignChoosesAWorkerID(t *testing.T) {
	rows := []leasestore.Row{{WorkerID: 0, Fence: 1500}, {WorkerID: 1, Fence: 900}, held(2, 800, "other", 1001)}
	for name, row := range map[string]struct {
		assigner func(leasestore.Store, LeaseConfig) Assigner
		rows     []leasestore.Row
		want     int64
	}{
		"Leased: recycled, fence in the past":    {Leased, rows, 1},
		"Leased: recycled, nearest fence":        {Leased, []leasestore.Row{{WorkerID: 0, Fence: 1500}, {WorkerID: 1, Fence: 1200}}, 1},
		"Leased: new, as nothing is free":        {Leased, rows[2:], 3},
		"Leased: expired by the store's clock":   {Leased, []leasestore.Row{held(0, 900, "other", 1000)}, 0},
		"Leased: free, as its release has it":    {Leased, []leasestore.Row{{WorkerID: 0, Fence: 900, Expires: memTime(1000)}}, 0},
		"Auto: new while there are any":          {Auto, rows, 3},
		"Auto: recycled when all are given out":  {Auto, append([]leasestore.Row{held(3, 1, "other", 1001)}, rows...), 1},
		"Leased: a row beyond the layout is not": {Leased, []leasestore.Row{{WorkerID: 4, Fence: 1}, {WorkerID: 0, Fence: 2000}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, order := range orders {
				s := newMemStore()
				s.put(row.rows...)
				a := row.assigner(s, LeaseConfig{})
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

// Processes that start at once do not all try the same row.
func TestLeasedTakesRowsInRandomOrder(t *testing.T) {
	for _, fences := range [][2]int64{{1, 2}, {memStart + 211, memStart + 214}} {
		for want, order := range orders {
			s := newMemStore()
			s.put(leasestore.Row{WorkerID: 0, Fence: fences[0]}, leasestore.Row{WorkerID: 1, Fence: fences[1]})
			a := clocked(Leased(s, LeaseConfig{}))
			a.(*leaser).shuffle = order
			if got := take(t, a).Grant().WorkerID; got != int64(want) {
				t.Errorf("fences %v: worker %d, want %d", fences, got, want)
			}
		}
	}
}

func TestAutoTakesSpareRowsFirst(t *testing.T) {
	s := newMemStore()
	s.put(leasestore.Row{WorkerID: 1}, leasestore.Row{WorkerID: 2})
	s.rows[0] = leasestore.Row{WorkerID: 0, Version: 1, Token: recoveringPrefix} // created by a recovery
	for _, order := range orders {
		s.rows[1] = leasestore.Row{WorkerID: 1, Version: 1} // never claimed
		a := clocked(Auto(s, LeaseConfig{}))
		a.(*leaser).shuffle = order
		wantGrant(t, take(t, a), 1, 1, 1030)
		if s.meta.NextWorkerID != 3 {
			t.Errorf("next worker %d, want 3: none is new", s.meta.NextWorkerID)
		}
	}
	s = newMemStore()
	s.put(leasestore.Row{WorkerID: 0}, held(1, 1, "other", 2000))
	a := clocked(Auto(s, LeaseConfig{}))
	s.onList = func() error { return errStore }
	_, err := a.Assign(t.Context(), memDomain())
	wantError(t, err, errStore, "list the expired rows")
	s.onList = nil
	s.onSwap = func(old, next leasestore.Row, do func() bool) (bool, error) { // another process takes the next new one
		if old.Version == 0 {
			s.onSwap = nil
			s.rows[2] = held(2, 1, "other", 2000)
			s.pin(3)
			return false, nil
		}
		return do(), nil
	}
	wantGrant(t, take(t, a), 3, 1, 1030)
}

// The counter never passes a worker ID without a row, and no row is claimed that it has not passed.
func TestLeasedCountsARowBeforeItTakesIt(t *testing.T) {
	s := newMemStore()
	s.pin(0)
	s.rows[0] = leasestore.Row{WorkerID: 0, Version: 1}
	a := clocked(Leased(s, LeaseConfig{}))
	a.(*leaser).pause = func(context.Context, int) {}
	take(t, a)
	if s.meta.NextWorkerID != 1 {
		t.Errorf("next worker %d, want 1", s.meta.NextWorkerID)
	}
}

func TestLeasedWithAClaimWithoutAnAnswer(t *testing.T) {
	t.Run("taken", func(t *testing.T) {
		s := newMemStore()
		s.put(leasestore.Row{WorkerID: 0, Fence: 700})
		s.lose(1)
		wantGrant(t, take(t, clocked(Leased(s, LeaseConfig{}))), 0, 701, 1030)
	})
	t.Run("and cannot be read", func(t *testing.T) {
		s := newMemStore()
		s.put(leasestore.Row{WorkerID: 0, Fence: 700})
		s.lose(1)
		s.onLoad = func() error { return context.DeadlineExceeded }
		_, err := clocked(Leased(s, LeaseConfig{})).Assign(t.Context(), memDomain())
		wantError(t, err, errLostAnswer, "claim row 0")
		wantError(t, err, context.DeadlineExceeded)
	})
}

// If the answer to a count is lost, the claim reads the meta row and finds its token. A count
// without effect is an error and wastes no worker ID.
func TestLeasedWithACountWithoutAnAnswer(t *testing.T) {
	for name, arrives := range map[string]bool{"taken": true, "not taken": false} {
		t.Run(name, func(t *testing.T) {
			s := newMemStore()
			s.pin(0)
			s.onMeta = func(do func() bool) (bool, error) {
				s.onMeta = nil
				if arrives {
					do()
				}
				return false, errLostAnswer
			}
			a := clocked(Leased(s, LeaseConfig{}))
			l, err := a.Assign(t.Context(), memDomain())
			if !arrives {
				wantError(t, err, errLostAnswer, "count the worker IDs")
				if row := s.rows[0]; row.Version != 1 || row.Token != "" || row.Owner != "" || row.Holder != "" || row.Expires.After(s.status.Now) {
					t.Errorf("row %+v, want an unused one", row)
				}
				l, err = a.Assign(t.Context(), memDomain())
			}
			if err != nil {
				t.Fatal(err)
			}
			if arrives {
				wantGrant(t, l, 0, 1, 1030)
			} else {
				wantGrant(t, l, 0, 1031, 1060) // the row has been created, and is claimed again
			}
		})
	}
}

// Another process swaps the meta row between the read and the unanswered swap of a claim. Both
// swaps leave the same version: the tokens tell them apart.
func TestLeasedWithACountThatAnotherSwapReplaced(t *testing.T) {
	s := newMemStore()
	s.pin(1)
	s.onMeta = func(func() bool) (bool, error) {
		s.onMeta = nil
		s.meta.Version, s.meta.Token = s.meta.Version+1, "T" // a swap of the meta row, and no count
		return false, errLostAnswer
	}
	_, err := clocked(Leased(s, LeaseConfig{})).Assign(t.Context(), memDomain())
	wantError(t, err, errLostAnswer, "count the worker IDs")
}

// A store without the right to write the meta row is read once, and not until the context ends.
func TestLeasedWithAMetaRowThatCannotBeWritten(t *testing.T) {
	s := newMemStore()
	calls := 0
	ctx, cancel := context.WithCancel(t.Context())
	s.onMeta = func(func() bool) (bool, error) {
		if calls++; calls == 3 {
			cancel()
		}
		return false, errLostAnswer
	}
	_, err := clocked(Leased(s, LeaseConfig{})).Assign(ctx, memDomain())
	wantError(t, err, errLostAnswer, "write the meta row")
	s.onMeta = nil
	take(t, clocked(Leased(s, LeaseConfig{})))
	if s.meta.Version != 2 {
		t.Errorf("meta row %+v, want the version 2: created, and a worker ID counted", s.meta)
	}
}

func TestFencedRejectsAnotherOwner(t *testing.T) {
	s := newMemStore()
	first := take(t, clocked(Fenced(s, Static(2), "10.0.0.55", LeaseConfig{})))
	wantGrant(t, first, 2, 1, 1030)
	second := clocked(Fenced(s, Static(2), "10.1.0.55", LeaseConfig{}))
	_, err := second.Assign(t.Context(), memDomain())
	wantError(t, err, ErrWorkerInUse, "row 2", `"10.0.0.55"`, `"10.1.0.55"`, "2026-01-01T00:17:40Z")

	s.status.Now = memTime(1060) // two windows later
	mine := take(t, second)
	wantGrant(t, mine, 2, 1031, 1060)
	wantError(t, first.Renew(t.Context(), 1010, 1018), ErrWorkerRowLost, "taken over", `"10.1.0.55"`)
	wantGrant(t, take(t, second), 2, 1061, 1090) // the same owner takes it at once
	wantError(t, mine.Renew(t.Context(), 1010, 1018), ErrWorkerRowLost)
}

func TestFencedTakesAReleasedWorkerIDOfAnotherOwner(t *testing.T) {
	s := newMemStore()
	if err := take(t, clocked(Fenced(s, Static(0), "one", LeaseConfig{}))).Release(t.Context(), 1010); err != nil {
		t.Fatal(err)
	}
	d := s.at(memStart - 120) // the clocks were ahead: the row has not expired
	wantGrant(t, takeIn(t, clocked(Fenced(s, Static(0), "two", LeaseConfig{})), d), 0, 1031, 1060)
}

func TestAssignRejectsAClockThatIsOff(t *testing.T) {
	for _, row := range []struct {
		store int64
		ok    bool
		text  string
	}{
		{memStart - 60, true, ""},
		{memStart + 60, true, ""},
		{memStart - 3600, false, "this host is 1h0m0s ahead"},
		{memStart + 3600, false, "this host is 1h0m0s behind the store"},
	} {
		s := newMemStore()
		s.status.Now = memTime(row.store)
		_, err := clocked(Leased(s, LeaseConfig{})).Assign(t.Context(), memDomain())
		if row.ok {
			if err != nil {
				t.Errorf("store at %d: %v", row.store, err)
			}
			continue
		}
		wantError(t, err, leasestore.ErrClockSkew, row.text, "1m0s either way")
		if len(s.rows) > 0 {
			t.Error("a row was taken all the same")
		}
	}
}

func TestAssignOnAStoreWithFaults(t *testing.T) {
	s := newMemStore()
	s.pin(0)
	s.status.Faults = []string{"sync_binlog is 0", "read_only is on"}
	_, err := clocked(Leased(s, LeaseConfig{})).Assign(t.Context(), memDomain())
	wantError(t, err, leasestore.ErrNotDurable, "sync_binlog is 0; read_only is on", "AllowUndurable")

	s.status.Faults = s.status.Faults[:1]
	_, err = clocked(Leased(s, LeaseConfig{})).Assign(t.Context(), memDomain())
	wantError(t, err, leasestore.ErrNotDurable, "sync_binlog is 0;")
	l := take(t, clocked(Leased(s, LeaseConfig{AllowUndurable: true})))
	want := Grant{WorkerID: 0, First: 1, Limit: 1030, Guarantee: GuaranteeLossy, Reusable: true}
	if g := l.Grant(); g != want {
		t.Errorf("Grant = %+v, want %+v", g, want)
	}
}

func TestAssignRejectsAnotherDomainByField(t *testing.T) {
	s := newMemStore()
	take(t, clocked(Leased(s, LeaseConfig{})))
	before := s.meta
	d := memDomain()
	d.Layout = bitsalloc.Layout{DeltaBits: 29, DatacenterBits: 6, WorkerBits: 3, SequenceBits: 14, Unit: 2 * time.Second}
	d.Epoch, d.DatacenterID, d.Now = d.Epoch.Add(time.Second), 4, func() int64 { return memStart / 2 }
	_, err := clocked(Leased(s, LeaseConfig{})).Assign(t.Context(), d)
	wantError(t, err, ErrLayoutMismatch, "DeltaBits 28 in the store, here 29", "DatacenterBits 5 in the store, here 6",
		"WorkerBits 2 in the store, here 3", "SequenceBits 13 in the store, here 14", "Unit 1s in the store, here 2s",
		"Epoch 2026-01-01T00:00:00Z in the store, here 2026-01-01T00:00:01Z", "DatacenterID 3 in the store, here 4")
	if n := strings.Count(err.Error(), "correct them here"); n != 1 || s.meta != before || len(s.rows) != 1 {
		t.Errorf("the advice stands %d times in %v, want once; meta row %+v, was %+v, %d rows", n, err, s.meta, before, len(s.rows))
	}
	d = memDomain()
	d.Epoch = d.Epoch.In(time.FixedZone("", 3600))
	takeIn(t, clocked(Leased(s, LeaseConfig{})), d)
}

// A counter that went past the maximum was the end of a scheme that cut it down to size.
func TestAssignWithACounterPastTheMaximum(t *testing.T) {
	for _, assigner := range []func(leasestore.Store, LeaseConfig) Assigner{Leased, Auto} {
		s := newMemStore()
		s.put(held(1, 900, "other", 1001))
		s.pin(1 << 40)
		_, err := assigner(s, LeaseConfig{}).Assign(t.Context(), memDomain())
		wantError(t, err, ErrWorkersExhausted)
		s.put(leasestore.Row{WorkerID: 2, Fence: 900})
		s.pin(1 << 40)
		wantGrant(t, take(t, assigner(s, LeaseConfig{})), 2, 901, 1030)
	}
	s := newMemStore()
	for want := range int64(4) {
		wantGrant(t, take(t, clocked(Leased(s, LeaseConfig{}))), want, 1, 1030)
	}
	_, err := clocked(Leased(s, LeaseConfig{})).Assign(t.Context(), memDomain())
	wantError(t, err, ErrWorkersExhausted, "all 4 have been given out")
	wantRetry(t, err, time.Second)
}

func TestAssignNamesAllMistakesOfItsConfig(t *testing.T) {
	cfg := LeaseConfig{Window: -time.Second, MaxLead: -time.Minute}
	_, err := Leased(nil, cfg).Assign(t.Context(), memDomain())
	wantError(t, err, nil, "store is nil", "Window -1s", "MaxLead -1m0s")
	_, err = Fenced(newMemStore(), Static(0), "", cfg).Assign(t.Context(), memDomain())
	wantError(t, err, nil, "owner is empty", "Window -1s", "MaxLead -1m0s")
	for _, number := range []int64{-1, 4} {
		_, err = Fenced(newMemStore(), Static(number), "host", LeaseConfig{}).Assign(t.Context(), memDomain())
		wantError(t, err, ErrWorkerOutOfRange, "0 to 3")
	}
	_, err = Fenced(nil, nil, "", cfg).Assign(t.Context(), memDomain())
	wantError(t, err, nil, "store is nil", "source is nil", "Fenced: owner is empty", "Window -1s")
}

// A mistake in the environment is found before the store is read or a namespace is created.
func TestFencedReadsItsSourceAtEachAssign(t *testing.T) {
	s := newMemStore()
	t.Setenv("POD_INDEX", "4")
	_, err := Fenced(s, StatefulSet("POD_INDEX"), "orders-4", LeaseConfig{}).Assign(t.Context(), memDomain())
	wantError(t, err, ErrWorkerOutOfRange, "POD_INDEX", "0 to 3")
	_, err = Fenced(s, Env("UIDRING_TEST_UNSET"), "orders-4", LeaseConfig{}).Assign(t.Context(), memDomain())
	wantError(t, err, ErrWorkerUnknown, "UIDRING_TEST_UNSET")
	if s.meta.Version != 0 {
		t.Errorf("meta row %+v, want none", s.meta)
	}
	a := clocked(Fenced(s, StatefulSet("POD_INDEX"), "orders-2", LeaseConfig{}))
	for _, number := range []int64{2, 1} {
		t.Setenv("POD_INDEX", fmt.Sprint(number))
		wantGrant(t, take(t, a), number, 1, 1030)
	}
	source := clocked(Leased(s, LeaseConfig{}))
	_, err = Fenced(newMemStore(), source, "orders-4", LeaseConfig{}).Assign(t.Context(), memDomain())
	wantError(t, err, nil, "source grants a worker ID that is fenced, allowed: derived")
	if row := s.rows[0]; !row.Free() {
		t.Errorf("row %+v of the source, want it free", row)
	}
}

func TestLeasedWritesItsOwner(t *testing.T) {
	s := newMemStore()
	s.status.Identity = "server 7"
	take(t, clocked(Leased(s, LeaseConfig{Owner: "orders-3"})))
	take(t, clocked(Leased(s, LeaseConfig{})))
	if got := s.rows[0]; got.Owner != "orders-3" || got.Identity != "server 7" {
		t.Errorf("row 0 = %+v, want the owner and the server's identity", got)
	}
	if got := s.rows[1].Owner; !strings.Contains(got, " pid ") {
		t.Errorf("owner %q, want host and process", got)
	}
}

func TestLeasedEndsWithItsContext(t *testing.T) {
	s := newMemStore()
	ctx, cancel := context.WithCancel(t.Context())
	s.onSwap = func(_, _ leasestore.Row, _ func() bool) (bool, error) {
		cancel()
		return false, ctx.Err()
	}
	for range 2 { // in the middle, and before it begins
		if _, err := clocked(Leased(s, LeaseConfig{})).Assign(ctx, memDomain()); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "other processes") {
			t.Errorf("err = %v, want context.Canceled, and no blame", err)
		}
	}
}

// wantError checks the sentinel, if any, and words of the text.
func wantError(t *testing.T, err, sentinel error, words ...string) {
	t.Helper()
	if err == nil || sentinel != nil && !errors.Is(err, sentinel) {
		t.Fatalf("err = %v, want %v", err, sentinel)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("err = %v, want %q in it", err, word)
		}
	}
}
