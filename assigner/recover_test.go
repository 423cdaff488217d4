package assigner

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
)

// recoveringPrefix starts the token of a row that Recover has raised.
const recoveringPrefix = "recovering-"

// recoverAn calls Recover with a lead of an hour.
func recoverAn(t *testing.T, s leasestore.Store) error {
	return leasestore.Recover(t.Context(), s, time.Hour)
}

func TestRecoverRaisesAllFences(t *testing.T) {
	s := newMemStore()
	s.put(held(0, 700, "a", memStart+60), held(1, memStart+500, "b", memStart+60), leasestore.Row{WorkerID: 2, Version: 4, Fence: 3})
	s.status.Identity = "restored"
	if err := leasestore.Recover(t.Context(), s, time.Hour-time.Second+1); err != nil { // rounded up
		t.Fatal(err)
	}
	for worker, want := range map[int64]leasestore.Row{
		0: {Version: 2, Fence: memStart + 3600, Owner: "a"},
		1: {Version: 2, Fence: memStart + 500 + 3600, Owner: "b"},
		2: {Version: 5, Fence: memStart + 3600, Owner: "gone"},
	} {
		want.WorkerID, want.Identity, want.Expires = worker, "restored", memTime(memStart)
		want.Token = s.rows[worker].Token // token of the recovery: the row has expired
		if got := s.rows[worker]; got != want || !strings.HasPrefix(got.Token, recoveringPrefix) {
			t.Errorf("row %+v, want %+v", got, want)
		}
	}
	if s.meta.Fence != memStart+3600 || s.meta.Identity != "restored" || s.meta.NextWorkerID != 3 || s.meta.Version != 3 || s.meta.Recovering() {
		t.Errorf("meta %+v, want its fence raised to %d and no number taken", s.meta, memStart+3600)
	}
	// There is no quarantine any more, and a worker ID whose row was lost starts above the
	// namespace's fence.
	wantGrant(t, take(t, auto(s)), 3, memStart+3601, memStart+3600+30)
}

// A process that swaps a row first does not keep a recovery from its fence.
func TestRecoverAgainstOthers(t *testing.T) {
	s := newMemStore()
	s.put(held(0, 700, "a", memStart+60))
	s.onMeta = func(do func() bool) (bool, error) { // a claim
		s.onMeta = nil
		s.meta.Version, s.meta.NextWorkerID = 2, 2
		return do(), nil
	}
	s.onSwap = func(old, next leasestore.Row, do func() bool) (bool, error) { // the holder
		s.onSwap = nil
		s.rows[0] = held(0, memStart+800, "a", memStart+60)
		return do(), nil
	}
	if err := recoverAn(t, s); err != nil || s.rows[0].Fence != memStart+800+3600 || s.rows[0].Expires.After(s.status.Now) || s.meta.Fence != memStart+3600 || len(s.rows) != 2 {
		t.Errorf("Recover: %v; meta %+v, rows %+v", err, s.meta, s.rows)
	}
	s.onSwap = func(old, next leasestore.Row, do func() bool) (bool, error) {
		s.onSwap = nil
		delete(s.rows, 0)
		return do(), nil
	}
	if err := recoverAn(t, s); err != nil || s.rows[0].Fence != s.meta.Fence {
		t.Errorf("Recover: %v; meta %+v, row %+v, want a new row at the namespace's fence", err, s.meta, s.rows[0])
	}
}

func TestRecoverReturnsErrors(t *testing.T) {
	wantError(t, recoverAn(t, newMemStore()), nil, "which must never happen")
	s := newMemStore()
	s.pin(1)
	wantError(t, leasestore.Recover(t.Context(), s, -time.Second), nil, "lead -1s")
	s.status.Lossy = true
	wantError(t, recoverAn(t, s), nil, "lossy")
	if s.meta.Version != 1 {
		t.Errorf("meta %+v, want it as it was", s.meta)
	}
	s.status.Lossy = false
	s.put(leasestore.Row{WorkerID: 0, Fence: 1})
	s.lose(1) // the row shows that the swap took effect
	if err := recoverAn(t, s); err != nil || s.rows[0].Version != 2 {
		t.Errorf("Recover: %v; row %+v", err, s.rows[0])
	}
	s.onSwap = func(_, _ leasestore.Row, _ func() bool) (bool, error) { return false, errLostAnswer }
	wantError(t, recoverAn(t, s), errLostAnswer, "row 0")
	s.onList = func() error { return errStore }
	wantError(t, recoverAn(t, s), errStore, "list the rows")
	s.pin(1)
	s.onMeta = func(func() bool) (bool, error) { return false, errLostAnswer }
	wantError(t, recoverAn(t, s), errLostAnswer, "the meta row")
}

func TestRecoverEnds(t *testing.T) {
	for name, row := range map[string]struct {
		token string // found in the meta row, if the swap was not made
		swap  error
		load  error
		want  string
	}{
		"not answered":                    {"ended", errLostAnswer, nil, ""},
		"neither answered nor made":       {"", errLostAnswer, nil, "connection reset"},
		"of an earlier call":              {"ended", nil, nil, ""},
		"beside another recovery":         {recoveringPrefix + "2", nil, nil, "another recovery has begun"},
		"and cannot be read":              {"ended", nil, errStore, "no answer"},
		"and overlaps another source":     {"ended", nil, leasestore.ErrOverlap, ""},
		"and overlaps, beside a recovery": {recoveringPrefix + "2", nil, leasestore.ErrOverlap, "another recovery has begun"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMemStore()
			s.pin(1)
			s.onMeta = func(do func() bool) (bool, error) {
				s.onMeta = func(func() bool) (bool, error) {
					if s.errMeta = row.load; row.token != "" {
						s.meta.Token, s.meta.Version = row.token, 9
					}
					return false, row.swap
				}
				return do(), nil
			}
			err := recoverAn(t, s)
			if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("Recover = %v, want %q", err, row.want)
			}
		})
	}
}

// Two sources of worker IDs in one database keep new claims out, and neither a recovery nor the
// holders.
func TestRecoverAndRenewDespiteAnOverlap(t *testing.T) {
	s := newMemStore()
	s.errMeta = leasestore.ErrOverlap
	s.pin(1)
	if err := recoverAn(t, s); err != nil {
		t.Errorf("Recover: %v", err)
	}
	refused(t, leased(s), leasestore.ErrOverlap)
	s.errMeta = nil
	l := take(t, leased(s))
	s.errMeta = leasestore.ErrOverlap
	if err := l.Renew(t.Context(), 0, 0); err != nil {
		t.Errorf("Renew: %v", err)
	}
	clear(s.rows)
	wantError(t, l.Renew(t.Context(), 0, 0), leasestore.ErrRowMissing)
}

// A claim during a recovery fails, also where a recovery with no lead leaves the fence of the
// namespace. A claim that read the meta row before, and creates its row after it, starts again.
func TestAssignDuringARecovery(t *testing.T) {
	s := newMemStore()
	s.pin(0)
	s.meta.Fence = memStart + 60
	s.onSwap = func(_, _ leasestore.Row, do func() bool) (bool, error) {
		s.meta.Version, s.meta.Token = 2, recoveringPrefix+"1"
		return do(), nil
	}
	refused(t, fenced(s, 3, "orders-3"), nil, "a recovery of the namespace is not finished")
	s = newMemStore()
	s.pin(0)
	s.onSwap = func(_, _ leasestore.Row, do func() bool) (bool, error) {
		s.onSwap = nil
		if err := recoverAn(t, s); err != nil {
			t.Error(err)
		}
		return do(), nil
	}
	wantGrant(t, take(t, fenced(s, 3, "orders-3")), 3, memStart+3601, memStart+3600+30)
	if v := s.rows[3].Version; v != 2 {
		t.Errorf("version %d, want a second claim", v)
	}
}

// A recovery that was interrupted goes on where it stopped, and raises each fence once. Until it
// ends, claims fail. With a larger lead, or on another server that may lack a part of it, it begins
// anew.
func TestRecoverRepeated(t *testing.T) {
	s := newMemStore()
	s.put(leasestore.Row{WorkerID: 0, Fence: 5000}, leasestore.Row{WorkerID: 1, Fence: 6000}, leasestore.Row{WorkerID: 2, Fence: 7000})
	s.status.Identity = "A"
	interrupt := func(lead time.Duration) {
		t.Helper()
		swaps := 0
		s.onSwap = func(_, _ leasestore.Row, do func() bool) (bool, error) {
			if swaps++; swaps == 2 {
				return false, errLostAnswer
			}
			return do(), nil
		}
		wantError(t, leasestore.Recover(t.Context(), s, lead), errLostAnswer)
		s.onSwap = nil
	}
	want := func(lead int64) {
		t.Helper()
		for worker, fence := range []int64{5000, 6000, 7000} {
			if got := s.rows[int64(worker)].Fence; got != fence+lead {
				t.Errorf("fence %d of row %d, want %d", got, worker, fence+lead)
			}
		}
	}
	interrupt(time.Hour)
	interrupt(time.Hour) // the same lead is not added again
	wantRetry(t, refused(t, leased(s), nil, "recovery", "call Recover again"), time.Second)
	if err := leasestore.Recover(t.Context(), s, time.Minute); err != nil || s.meta.Fence != memStart+3600 {
		t.Errorf("Recover: %v; meta %+v", err, s.meta)
	}
	want(3600)
	take(t, fenced(s, 3, "orders-3"))

	s.onList = func() error { return errStore }
	wantError(t, leasestore.Recover(t.Context(), s, time.Minute), errStore)
	s.onList = nil
	if err := recoverAn(t, s); err != nil || s.meta.Fence != memStart+2*3600+60 {
		t.Errorf("Recover: %v; meta %+v", err, s.meta)
	}
	want(2 * 3600)

	interrupt(time.Hour)
	s.rows[0] = leasestore.Row{WorkerID: 0, Version: 1, Fence: 5000 + 2*3600}
	s.status.Identity = "B"
	if err := recoverAn(t, s); err != nil || s.meta.Identity != "B" || s.rows[0].Identity != "B" {
		t.Errorf("Recover: %v; meta %+v, row %+v", err, s.meta, s.rows[0])
	}
	want(3 * 3600)
}

// A worker ID below the counter without a row was deleted. Only a recovery gives it a fence above
// its last use.
func TestRecoverCreatesDeletedRows(t *testing.T) {
	s := newMemStore()
	s.put(held(0, 700, "a", memStart+60))
	s.pin(4) // rows 1 to 3 are gone
	refused(t, leased(s), ErrWorkersExhausted)
	var created []int64
	s.onSwap = func(old, next leasestore.Row, do func() bool) (bool, error) {
		if old.Version == 0 && next.Version == 1 {
			created = append(created, next.WorkerID)
		}
		return do(), nil
	}
	if err := recoverAn(t, s); err != nil || !slices.Equal(created, []int64{1, 2, 3}) {
		t.Fatalf("Recover: %v; rows %v created, want 1 to 3", err, created)
	}
	for range 4 {
		if g := take(t, leased(s)).Grant(); g.First != memStart+3601 {
			t.Errorf("grant %+v, want it from %d", g, memStart+3601)
		}
	}
}
