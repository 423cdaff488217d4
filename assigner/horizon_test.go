package assigner

import (
	"math"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/test/testkit"
)

// wantHorizon checks the delta of the namespace's horizon.
func wantHorizon(t *testing.T, s *memStore, want int64) {
	t.Helper()
	id, err := leasestore.Horizon(t.Context(), s)
	testkit.Must(t, err)
	alloc, _ := bitsalloc.New(s.meta.Layout, s.meta.Epoch)
	if smallest := alloc.MinAt(memTime(want)); id != smallest {
		f, _ := alloc.Parse(id)
		t.Errorf("horizon %v, want %d, the smallest ID of delta %d", f, smallest, want)
	}
}

// wantDeltas checks the worker ID and the deltas of a lease.
func wantDeltas(t *testing.T, l Lease, worker, first, limit int64) {
	t.Helper()
	if g := l.Grant(); g.WorkerID != worker || g.First != first || g.Last != limit {
		t.Errorf("grant %+v, want worker %d, deltas %d to %d", g, worker, first, limit)
	}
}

func TestHorizonCountsRows(t *testing.T) {
	const now, old = memStart, memStart - 500
	row := func(token string, fence, expires int64) leasestore.Row {
		return leasestore.Row{Fence: fence, Oldest: old, Token: token, Expires: memTime(expires)}
	}
	for name, tt := range map[string]struct {
		row  leasestore.Row
		want int64
	}{
		"held":                                               {row("T", now+60, now+60), old},
		"held, its deltas used up":                           {row("T", old, now+60), old},
		"held, ahead of the clock":                           {leasestore.Row{Fence: now + 90, Oldest: now + 1, Token: "T", Expires: memTime(now + 60)}, now},
		"expired, its fence ahead":                           {row("T", now+60, now-1), old},
		"expired, its fence two minutes ago":                 {row("T", now-120, now-1), old},
		"expired, its fence longer ago":                      {row("T", now-121, now), now},
		"released":                                           {row("", now+60, now+60), now},
		"revoked":                                            {row("revoked-T", now+60, now+60), old},
		"recovered, its fence ahead":                         {row("recovering-3600-T", now+3600, now), now},
		"released, a former holder's ahead":                  {leasestore.Row{Oldest: old, Former: now + 1}, old},
		"released, a former holder's a minute ago":           {leasestore.Row{Oldest: old, Former: now - 60}, old},
		"released, a former holder's over a minute ago":      {leasestore.Row{Oldest: old, Former: now - 61}, now},
		"held, after a former holder's over a minute ago":    {leasestore.Row{Oldest: old, Former: now - 61, Token: "T", Expires: memTime(now + 60)}, now - 60},
		"held, after one that is past, its own delta higher": {leasestore.Row{Oldest: now - 50, Former: now - 61, Token: "T", Expires: memTime(now + 60)}, now - 50},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMemStore()
			s.rows[0] = tt.row
			s.pin(1)
			wantHorizon(t, s, tt.want)
		})
	}
}

// A claim begins above the horizon, also when its clock is behind or when the horizon rises
// meanwhile. A renewal stores the oldest delta.
func TestHorizonHoldsAgainstClaims(t *testing.T) {
	s := newMemStore()
	s.pin(0)
	wantHorizon(t, s, memStart)
	s.status.Now = memTime(memStart - 5) // the clock of the store is set back
	wantHorizon(t, s, memStart-5)
	s.status.Now = memTime(memStart)
	if s.meta.Horizon != memStart-1 || s.meta.Version != 3 {
		t.Errorf("meta %+v, want a new version with horizon %d", s.meta, memStart-1)
	}
	d := memDomain()
	d.Now = func() int64 { return memStart - 20 }
	first := takeIn(t, auto(s), d)
	wantDeltas(t, first, 0, memStart, memStart-1+30)
	wantHorizon(t, s, memStart)

	s.onSwap = func(_, _ leasestore.Row, do func() bool) (bool, error) {
		s.onSwap = nil
		s.status.Now = memTime(memStart + 5)
		wantHorizon(t, s, memStart) // of the first claim
		return do(), nil
	}
	second := take(t, auto(s))
	wantDeltas(t, second, 1, memStart+5, memStart+30)
	if oldest := s.rows[1].Oldest; oldest != memStart {
		t.Errorf("the claim has stored the oldest delta %d, want %d, above the horizon that it knew", oldest, memStart)
	}
	for _, oldest := range []int64{memStart + 17, memStart + 3} { // it never falls
		if _, err := second.Renew(t.Context(), Use{Used: memStart + 20, Oldest: oldest}); err != nil || s.rows[1].Oldest != memStart+17 {
			t.Errorf("Renew: %v, row %+v, want the oldest delta %d", err, s.rows[1], memStart+17)
		}
	}
}

// The row of a lease in quarantine may have been left out meanwhile.
func TestHorizonHoldsAgainstAQuarantine(t *testing.T) {
	s := newMemStore()
	s.pin(0)
	s.status.Identity = "another server"
	a := auto(s)
	refused(t, a, ErrQuarantined)
	s.status.Now = memTime(memStart + 3600)
	d := memDomain()
	d.Now = func() int64 { return memStart + 3600 }
	wantHorizon(t, s, memStart+3600)
	wantDeltas(t, takeIn(t, a, d), 0, memStart+3600, s.rows[0].Fence)
}

// A holder of Fenced that meets another server uses up its grant while its row is in quarantine.
func TestHorizonHoldsAgainstAFencedHolderThatGoesOn(t *testing.T) {
	for _, after := range []int64{9, 61} { // its row is held, or has just expired
		s := newMemStore()
		s.pin(0)
		a := clocked(Fenced(s, Static(2), ownedBy("me")))
		l := take(t, a)
		_, err := l.Renew(t.Context(), Use{Used: memStart, Oldest: memStart - 3})
		testkit.Must(t, err)
		oldest := s.rows[2].Oldest
		s.status.Identity, s.status.Now = "another server", memTime(memStart+after)
		wantError(t, extend(t.Context(), l, memStart, 0), ErrWorkerRowLost)
		refused(t, a, ErrQuarantined)
		wantHorizon(t, s, oldest)
	}
}

// A second process of the owner takes the row over, another takes it from that, and all go on: the
// horizon stays below the IDs of each until its deltas are a minute in the past.
func TestHorizonHoldsThroughTakeovers(t *testing.T) {
	s := newMemStore()
	s.pin(0)
	now := int64(memStart)
	at := func(delta int64) { now, s.status.Now = delta, memTime(delta) }
	start := func() Lease {
		d := memDomain()
		d.Now = func() int64 { return now }
		a := Fenced(s, Static(2), ownedBy("me")).(*leaser)
		a.clock = func() instant { return instant{s.status.Now, s.status.Now} }
		return takeIn(t, a, d)
	}
	renew := func(l Lease, oldest int64) {
		t.Helper()
		if _, err := l.Renew(t.Context(), Use{Used: now, Oldest: oldest}); err != nil {
			t.Error(err)
		}
	}
	a := start()
	renew(a, memStart-2) // up to 1060
	at(memStart + 6)
	b := start() // from 1061 on
	wantHorizon(t, s, memStart-2)
	renew(b, b.Grant().First)
	wantHorizon(t, s, memStart-2)
	at(memStart + 10)
	c := start()
	cFirst := c.Grant().First
	wantHorizon(t, s, memStart-2)
	at(1120)
	renew(c, cFirst)
	wantHorizon(t, s, memStart-2) // the limit of a is a minute ago
	at(1121)
	wantHorizon(t, s, 1061) // b is next
	renew(c, cFirst)
	wantHorizon(t, s, 1061)
	if limit := b.Grant().Last; limit != cFirst-1 {
		t.Fatalf("the limit of b is %d, c begins at %d", limit, cFirst)
	}
	at(cFirst + 59)
	renew(c, cFirst)
	wantHorizon(t, s, 1061)
	at(cFirst + 60)
	renew(c, cFirst+40)
	wantHorizon(t, s, cFirst+40)
	if row := s.rows[2]; row.Former != 0 {
		t.Errorf("row %+v, want no former holder", row)
	}
}

// A claim of a row that was not released keeps the words of its holder, until its fence is a minute
// in the past, and for as long as callers keep IDs.
func TestClaimKeepsTheOldestDeltaOfTheLastHolder(t *testing.T) {
	for name, tt := range map[string]struct {
		row            leasestore.Row
		kept           time.Duration
		oldest, former int64
	}{
		"held, its fence ahead":         {leasestore.Row{Token: "T", Fence: 1010, Oldest: 5}, 0, 5, 1010},
		"its fence a minute ago":        {leasestore.Row{Token: "T", Fence: 940, Oldest: 5}, 0, 5, 940},
		"its fence longer ago":          {leasestore.Row{Token: "T", Fence: 939, Oldest: 5}, 0, 940, 0},
		"longer ago, with IDs kept":     {leasestore.Row{Token: "T", Fence: 939, Oldest: 5}, time.Second, 5, 940},
		"revoked":                       {leasestore.Row{Token: "revoked-T", Fence: 1010, Oldest: 5}, 0, 5, 1010},
		"released":                      {leasestore.Row{Fence: 1010, Oldest: 5}, 0, 1011, 0},
		"released after a takeover":     {leasestore.Row{Fence: 1010, Oldest: 5, Former: 1005}, 0, 5, 1005},
		"and the first is gone":         {leasestore.Row{Fence: 1010, Oldest: 5, Former: 939}, 0, 940, 1010},
		"and both are gone":             {leasestore.Row{Fence: 939, Oldest: 5, Former: 930}, 0, 940, 0},
		"taken from one that has taken": {leasestore.Row{Token: "T", Fence: 1010, Oldest: 5, Former: 940}, 0, 5, 940},
		"and the first is gone, too":    {leasestore.Row{Token: "T", Fence: 1010, Oldest: 5, Former: 939}, 0, 940, 1010},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMemStore()
			tt.row.Version, tt.row.Expires = 1, memTime(memStart-1)
			s.rows[0] = tt.row
			s.pin(1)
			d := memDomain()
			d.KeptFor = tt.kept
			takeIn(t, leased(s), d)
			if got := s.rows[0]; got.Oldest != tt.oldest || got.Former != tt.former {
				t.Errorf("row %+v, want oldest %d, former %d", got, tt.oldest, tt.former)
			}
		})
	}
}

// A claim begins above the horizon with deltas of its own, also if the clock of its host is behind
// by more than a window, and if the horizon rises during the claim.
func TestClaimAboveTheHorizonHasDeltas(t *testing.T) {
	for _, meanwhile := range []bool{false, true} {
		s := newMemStore()
		s.pin(0)
		d := memDomain()
		d.Now = func() int64 { return memStart - 55 }
		if !meanwhile {
			wantHorizon(t, s, memStart)
		}
		s.onSwap = func(_, _ leasestore.Row, do func() bool) (bool, error) {
			if s.onSwap = nil; meanwhile {
				wantHorizon(t, s, memStart)
			}
			return do(), nil
		}
		if g := takeIn(t, auto(s), d).Grant(); g.First != memStart || g.Last < g.First {
			t.Errorf("grant %+v, want deltas from %d on", g, memStart)
		}
	}
}

// At the end of the layout a claim gets an empty grant, which the generator reports.
func TestClaimAtTheEndOfTheLayoutEnds(t *testing.T) {
	s := newMemStore()
	s.rows[0] = free(0, 1<<28-1)
	s.pin(4)
	d := memDomain()
	now := int64(1<<28 - 2)
	d.Now, s.status.Now = func() int64 { return now }, memTime(now)
	if g := takeIn(t, leased(s), d).Grant(); g.First != 1<<28 || g.Last != 1<<28-1 {
		t.Errorf("grant %+v, want no delta", g)
	}
}

// After a recovery the horizon waits for the grants that the old fences covered, not for the lead.
func TestHorizonPassesARecovery(t *testing.T) {
	s := newMemStore()
	s.pin(0)
	take(t, leased(s))
	testkit.Must(t, leasestore.Recover(t.Context(), s, leasestore.Recovery{Lead: time.Hour}))
	wantHorizon(t, s, 1)
	d, now := memDomain(), int64(memStart+150)
	d.Now, s.status.Now = func() int64 { return now }, memTime(now)
	wantHorizon(t, s, now)
	a := leased(s).(*leaser)
	a.clock = func() instant { return instant{s.status.Now, s.status.Now} }
	takeIn(t, a, d)
	wantHorizon(t, s, now)
}

// Claims since the bound of a quarantine was stored begin above it, and may be lost, too. Callers
// may keep IDs above the fence of their holder.
func TestRecoverCountsFromTheHighestDelta(t *testing.T) {
	s := newMemStore()
	s.pin(1)
	s.meta.Quarantine = memStart + 500
	s.rows[0] = leasestore.Row{Version: 1, Token: "T", Fence: memStart + 30, Former: memStart + 90, Expires: memTime(memStart + 60)}
	testkit.Must(t, leasestore.Recover(t.Context(), s, leasestore.Recovery{Lead: time.Minute}))
	if s.meta.Fence != memStart+560 || s.rows[0].Former != memStart+90 {
		t.Errorf("meta %+v, row %+v, want the fence %d, Former %d", s.meta, s.rows[0], memStart+560, memStart+90)
	}
}

// The release of a service keeps the time of an earlier holder, whose limit is further ahead.
func TestReleaseForCallersKeepsAnEarlierHolder(t *testing.T) {
	s := newMemStore()
	s.rows[0] = held(0, memStart+60, "gone", memStart-1)
	s.pin(1)
	d := memDomain()
	d.KeptFor = 20 * time.Second
	l := takeIn(t, clocked(leased(s)), d)
	testkit.Must(t, l.End(t.Context(), Ending{Released: true, Used: memStart + 61}))
	if row := s.rows[0]; row.Former != memStart+60+20 {
		t.Errorf("row %+v, want former %d", row, memStart+80)
	}
}

// A holder that took the row from a live one releases it: the live one goes on.
func TestHorizonHoldsAgainstAReleaseAfterATakeover(t *testing.T) {
	s := newMemStore()
	s.pin(3)
	s.rows[2] = held(2, memStart+60, "me", memStart+60)
	row := s.rows[2]
	row.Oldest = memStart - 9
	s.rows[2] = row
	l := take(t, clocked(Fenced(s, Static(2), ownedBy("me"))))
	testkit.Must(t, l.End(t.Context(), Ending{Released: true}))
	wantHorizon(t, s, memStart-9)
	s.status.Now = memTime(memStart + 120)
	wantHorizon(t, s, memStart-9)
	s.status.Now = memTime(memStart + 121)
	wantHorizon(t, s, memStart+61)
	s.status.Now = memTime(memStart + 180)
	wantHorizon(t, s, memStart+61)
	s.status.Now = memTime(memStart + 181)
	wantHorizon(t, s, memStart+181)
}

// Crashes one after the other, of a worker ID that is taken over each time, or in turns with
// releases: the horizon is at most two windows and twice the bound on clocks behind.
func TestHorizonFollowsACrashLoop(t *testing.T) {
	for _, releases := range []bool{false, true} {
		followsCrashes(t, releases)
	}
}

func followsCrashes(t *testing.T, releases bool) {
	s := newMemStore()
	s.pin(0)
	now := int64(memStart)
	d := memDomain()
	d.Now = func() int64 { return now }
	for i := range 500 {
		a := clocked(Fenced(s, Static(2), ownedBy("me"))).(*leaser)
		a.clock = func() instant { return instant{s.status.Now, s.status.Now} }
		l := takeIn(t, a, d)
		last := max(l.Grant().First, now)
		_, err := l.Renew(t.Context(), Use{Used: last, Oldest: last})
		testkit.Must(t, err)
		if releases && i%2 == 0 {
			testkit.Must(t, l.End(t.Context(), Ending{Released: true, Used: last}))
		}
		id, err := leasestore.Horizon(t.Context(), s)
		testkit.Must(t, err)
		alloc, _ := bitsalloc.New(s.meta.Layout, s.meta.Epoch)
		if f, _ := alloc.Parse(id); now-f.Delta > 2*30+2*60 {
			t.Fatalf("the horizon is %d units behind", now-f.Delta)
		}
		now += 3
		s.status.Now = memTime(now)
	}
}

// Callers keep IDs for a while: the oldest delta that a renewal stores is as old as their IDs may
// be. A release holds the horizon back until they have used them.
func TestHorizonHoldsForIDsThatCallersKeep(t *testing.T) {
	s := newMemStore()
	s.pin(0)
	now := int64(memStart)
	d := memDomain()
	d.Now, d.KeptFor = func() int64 { return now }, 20*time.Second
	a := leased(s).(*leaser)
	a.clock = func() instant { return instant{s.status.Now, s.status.Now} }
	l := takeIn(t, a, d)
	first := s.rows[0].Oldest
	for _, step := range []struct{ at, oldest, want int64 }{
		{memStart + 5, memStart + 4, first}, {memStart + 15, memStart + 90, first}, // a burst ahead of the clock
		{memStart + 24, memStart + 95, first}, {memStart + 25, memStart + 96, memStart + 4}, {memStart + 34, memStart + 97, memStart + 4},
		{memStart + 35, memStart + 98, memStart + 90}, {memStart + 80, memStart + 99, memStart + 98},
	} {
		now, s.status.Now = step.at, memTime(step.at)
		if _, err := l.Renew(t.Context(), Use{Used: now, Oldest: step.oldest}); err != nil || s.rows[0].Oldest != step.want {
			t.Errorf("at %d: row %+v, %v, want the oldest delta %d", step.at, s.rows[0], err, step.want)
		}
	}
	now, s.status.Now = 2000, memTime(2000)
	testkit.Must(t, l.End(t.Context(), Ending{Released: true, Used: 2000}))
	if row := s.rows[0]; row.Former != 2020 || row.Oldest != memStart+98 {
		t.Errorf("row %+v after the release, want deltas up to 2020 from %d on", row, memStart+98)
	}
	s.status.Now = memTime(2080)
	wantHorizon(t, s, memStart+98)
	s.status.Now = memTime(2081)
	wantHorizon(t, s, 2081)
}

func TestHorizonIsRefused(t *testing.T) {
	ready := func(change func(*memStore)) *memStore {
		s := newMemStore()
		s.pin(1)
		change(s)
		return s
	}
	fails := func(operation string) func(*memStore) {
		return func(s *memStore) {
			s.onRead = func(what string) error {
				if what == operation {
					return errStore
				}
				return nil
			}
		}
	}
	for words, s := range map[string]*memStore{
		"layout":                             ready(func(s *memStore) { s.meta.Layout.DeltaBits = 0 }),
		"the store is lossy":                 ready(func(s *memStore) { s.status.Lossy = true }),
		"the namespace was never used":       newMemStore(),
		"a recovery of the namespace":        ready(func(s *memStore) { s.meta.Token = "recovering-3600-T" }),
		"read the status of the store":       ready(fails("status")),
		"list the rows: simulated store":     ready(fails("list")),
		"the meta row: connection reset":     ready(func(s *memStore) { s.onMeta = func(func() bool) (bool, error) { return false, errLostAnswer } }),
		"read the meta row: simulated store": ready(func(s *memStore) { s.errMeta = errStore }),
		"ahead of this host's":               ready(func(s *memStore) { s.status.Now = time.Now().Add(62*time.Second + time.Millisecond*900) }),
	} {
		if id, err := leasestore.Horizon(t.Context(), s); err == nil || id != 0 {
			t.Errorf("Horizon = %d, %v, want an error with %q", id, err, words)
		} else {
			wantError(t, err, err, "leasestore: Horizon: ", words)
		}
	}
}

// Another process may swap the meta row first, and an answer may be lost. An overlap keeps out
// claims only.
func TestHorizonAgainstOthers(t *testing.T) {
	s := newMemStore()
	s.pin(1)
	s.errMeta = leasestore.ErrOverlap
	calls := 0
	s.onMeta = func(do func() bool) (bool, error) {
		switch calls++; calls {
		case 1:
			s.meta.Version, s.meta.NextWorkerID = 2, 2
		case 2:
			do()
			return false, errLostAnswer
		}
		return do(), nil
	}
	wantHorizon(t, s, memStart)
	if s.meta.Horizon != memStart-1 || s.meta.NextWorkerID != 2 || calls != 2 {
		t.Errorf("meta %+v after %d swaps, want horizon %d, the other process's change and 2 swaps", s.meta, calls, memStart-1)
	}
	wantHorizon(t, s, memStart)
	if calls != 3 {
		t.Errorf("%d swaps, want one more, which proves that the store keeps the others", calls)
	}
	s.meta.Layout.DeltaBits = 4 // it has ended
	wantHorizon(t, s, 15)
	s.status.Now = memTime(math.MinInt32) // before the epoch
	wantHorizon(t, s, 1)                  // no ID is below delta 1
}
