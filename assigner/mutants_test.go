package assigner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
)

// bounded is the number of schedules within which a mutant must be caught, with the seeds of any
// day: at least thirty times the number that the mutant which is caught last takes on average.
const bounded = 3000

// caught tries seeds until one shows that a rule is broken. It fails the test if none of bounded
// ones does.
func caught(t *testing.T, broken func(seed uint64) bool) {
	t.Helper()
	from := firstSeed(t)
	for seed := from; seed < from+bounded; seed++ {
		if broken(seed) {
			t.Logf("caught with seed %d", seed)
			return
		}
	}
	t.Errorf("none of %d schedules shows that this rule is broken", bounded)
}

// Each mutant breaks one rule, and the simulation that finds nothing in the protocol as it is finds
// a duplicate.
func TestSimulationCatchesAProtocolWith(t *testing.T) {
	for name, sim := range map[string]simulation{
		"no fence in the predicate": {matches: func(found, old leasestore.Row) bool { return found.Version == old.Version && found.Token == old.Token }},
		"neither version nor token in the predicate": {
			matches:  func(found, old leasestore.Row) bool { return found.Fence == old.Fence },
			accident: loseClaim, often: true,
		},
		"no token in the predicate": {
			matches:  func(found, old leasestore.Row) bool { return found.Fence == old.Fence && found.Version == old.Version },
			accident: loseClaim, often: true,
		},
		"a start at the fence":        {grant: func(g Grant) Grant { g.First--; return g }},
		"ambiguity taken for success": {link: func(s leasestore.Store) leasestore.Store { return optimist{s} }},
		"a fence lowered to the clock on release": {write: func(w *simWorld, r leasestore.Row) leasestore.Row {
			if r.Token == "" {
				r.Fence = min(r.Fence, w.time)
			}
			return r
		}},
		"rows deleted and made anew":                            {accident: recreateRow},
		"rows deleted and made anew by Fenced":                  {accident: deleteRow, fenced: 100},
		"a store that loses commits":                            {accident: loseCommits, all: true},
		"a recovery that only raises the fences that are there": {accident: func(w *simWorld) { restore(w, false) }, all: true},
		"a delta composed before its check":                     {overrun: 1},
		// By design: a copy has all that the original has, until one of the two calls Invalidate.
		"a copied process that is closed without it": {accident: func(w *simWorld) { closeCopy(w, false) }},
		"a holder that goes on after its release":    {undying: true},
		"a release that has not seen the last delta": {early: 1},
		"a copied process that does not invalidate":  {accident: func(w *simWorld) { cloneHolder(w, false) }},
		// On a store that may forget, safety rests on clocks.
		"a lossy store that forgets all while all clocks go back": {
			lossy: true, all: true, calm: true,
			accident: func(w *simWorld) { forget(w); turnBack(w, 8*w.skew) },
		},
		"a lossy store that does not say so":                  {accident: loseCommits, all: true, calm: true},
		"a failover that loses commits and is not recognised": {accident: loseCommits, all: true, calm: true, fenced: 30},
		"no fence at all, only expiry":                        {grant: func(g Grant) Grant { g.First, g.Last = 0, Unlimited; return g }},
		// Here a delta below the horizon is the duplicate.
		"claims that do not see the horizon": {
			poller: sameStore,
			link:   func(s leasestore.Store) leasestore.Store { return blindStore{s} },
		},
		"rows that Horizon reads before it is set":    {poller: func(s leasestore.Store) leasestore.Store { return &hastyStore{Store: s} }},
		"rows with the newest delta in use as Oldest": {poller: sameStore, write: func(_ *simWorld, r leasestore.Row) leasestore.Row { r.Oldest += 3; return r }},
	} {
		t.Run(name, func(t *testing.T) {
			caught(t, func(seed uint64) bool { return simulate(seed, sim).duplicates > 0 })
		})
	}
}

// The other half of each of these is a mutant above: the accident alone breaks nothing.
func TestSimulationHasNoDuplicatesWith(t *testing.T) {
	for name, sim := range map[string]simulation{
		"rows deleted":                     {accident: deleteRow},
		"a copied process, invalidated":    {accident: func(w *simWorld) { cloneHolder(w, true) }, fenced: 30},
		"commits lost, then recovered":     {accident: func(w *simWorld) { restore(w, true) }, all: true, fenced: 30},
		"claims lost, grants proved since": {accident: loseClaim, often: true, fenced: 30},
		"a lossy store that forgets all":   {lossy: true, accident: forget, all: true, fenced: 30},
		"a lossy store":                    {lossy: true, accident: loseCommits, all: true, fenced: 30},
		"failovers that lose commits, recognised": {
			moves: 100, calm: true, all: true, fenced: 30,
			accident: moveAndLose,
		},
		"quick starts before failovers that lose commits": {
			moves: 100, calm: true, all: true, fenced: 80, hasty: true,
			accident: moveAndLose,
		},
		"failovers that lose renewals in use": {
			moves: 100, calm: true, all: true, often: true, fenced: 50, accident: loseRenewal,
		},
		"failovers that lose renewals in use, with two pairs of clocks": {
			moves: 100, calm: true, pairs: true, all: true, often: true, fenced: 50, accident: loseRenewal,
		},
		"a store that goes back, if a holder notices first": {moves: 100, calm: true, all: true, fenced: 30, accident: goBack},
		"a copied process, invalidated and closed":          {accident: func(w *simWorld) { closeCopy(w, true) }, fenced: 30},
		"commits lost, grants proved since":                 {accident: loseCommits, fenced: 30},
		"rows revoked":                                      {accident: revokeRow, often: true, fenced: 30, moves: 25},
		"rows revoked on a lossy store that loses commits": {
			lossy: true, all: true, fenced: 30, often: true,
			accident: func(w *simWorld) { revokeOr(w, loseCommits) },
		},
		"rows revoked before failovers that lose commits": {
			moves: 100, calm: true, all: true, fenced: 30, often: true,
			accident: func(w *simWorld) { revokeOr(w, moveAndLose) },
		},
	} {
		t.Run(name, func(t *testing.T) { noDuplicates(t, 300, sim) })
	}
}

// An optimist takes an unanswered swap of a row for done.
type optimist struct{ leasestore.Store }

func (o optimist) Swap(ctx context.Context, old, next leasestore.Row, ttl time.Duration) (bool, error) {
	ok, err := o.Store.Swap(ctx, old, next, ttl)
	return ok || err != nil, nil
}

// loseCommits is a failover or a restore without the recovery.
func loseCommits(w *simWorld) {
	n := 1 + w.rng.IntN(1+w.rng.IntN(8))
	w.store.rewind(n)
	w.era++
	w.log("the store has lost %d commits", n)
}

// moveAndLose is a failover that loses commits, to a server with another identity.
func moveAndLose(w *simWorld) {
	if loseRows(w) {
		w.failover()
	}
}

// forget empties the store, as a restart without its file does.
func forget(w *simWorld) {
	w.store.meta, w.store.commits = leasestore.Meta{}, nil
	clear(w.store.rows)
	w.era++
	w.log("the store has forgotten everything")
}

// loseRenewal is a failover that loses commits of the row whose holder is furthest ahead of the
// clock, after it has used all deltas that it may. The holder starts again at once, or goes on and
// is cut off.
func loseRenewal(w *simWorld) {
	h := slices.MaxFunc(w.holders, func(a, b *simHolder) int { return cmp.Compare(a.last-a.clock(), b.last-b.clock()) })
	l, ok := h.lease.(*lease)
	if !ok || h.renewing || h.ending || w.chance(70) {
		return
	}
	version := l.row.Version - w.rng.Int64N(2) // a renewal, or the claim
	lost := slices.IndexFunc(w.store.commits, func(c commit) bool {
		return c.worker == l.row.WorkerID && c.row.Version == version && c.row.Fence < l.row.Fence
	})
	created := func(c commit) bool { return c.worker < 0 && c.meta.Version == 0 }
	if lost < 0 || len(w.store.commits)-lost > 30 || slices.ContainsFunc(w.store.commits[lost:], created) {
		return
	}
	for h.wants() && h.last < h.grant.Last {
		h.compose()
	}
	w.log("holder %d has used deltas up to %d", h.id, h.last)
	w.store.rewind(len(w.store.commits) - lost)
	w.era++
	w.failover()
	w.log("the store has lost the renewal of row %d, and is %s", l.row.WorkerID, w.store.status.Identity)
	if w.chance(50) {
		h.start(nil, nil)
	} else {
		h.cutOff = w.time + 6*w.window
	}
}

// closeCopy has a copy of a process, in place of another, closed before it has issued an ID. If the
// copy calls Invalidate first, it gives nothing back.
func closeCopy(w *simWorld, invalidate bool) {
	from, to := w.holders[w.rng.IntN(len(w.holders))], w.holders[w.rng.IntN(len(w.holders))]
	original, ok := from.lease.(*lease)
	if !ok || from == to || from.renewing || from.ending {
		return
	}
	copied := *original
	copied.tried = slices.Clone(original.tried)
	copied.terms.domain, copied.seat = to.domain, &seat{}
	copied.leaser = &leaser{store: w.store.current(), clock: from.assigner.(*leaser).clock}
	err := copied.End(context.Background(), Ending{Released: !invalidate, Used: from.issued})
	w.log("a copy of holder %d is closed: %v", from.id, err)
}

// loseRows is loseCommits where the namespace stays. It returns false when there is nothing to
// lose.
func loseRows(w *simWorld) bool {
	created := slices.IndexFunc(w.store.commits, func(c commit) bool { return c.worker < 0 && c.meta.Version == 0 })
	commits := len(w.store.commits) - created - 1
	if w.store.meta.Version == 0 || commits == 0 {
		return false
	}
	n := 1 + w.rng.IntN(min(commits, 8))
	w.store.rewind(n)
	w.era++
	w.log("the store has lost %d commits", n)
	return true
}

// goBack is a restore without a recovery, or the loss of all rows. A holder is the first that calls
// the store, and no process finds a row again that it has lost.
func goBack(w *simWorld) {
	h := w.holders[w.rng.IntN(len(w.holders))]
	l, ok := h.lease.(*lease)
	if !ok || h.renewing || h.ending {
		return
	}
	link, renew := l.leaser.store, func() error {
		_, err := l.Renew(context.Background(), Use{Used: h.last, Want: h.last, Oldest: h.last + 1})
		return err
	}
	l.leaser.store = w.store.current()
	defer func() { l.leaser.store = link }()
	if stored := w.store.rows[l.row.WorkerID]; renew() != nil || l.row.Fence == stored.Fence {
		return
	}
	for _, other := range w.holders {
		if l, ok := other.lease.(*lease); !ok || w.store.rows[l.row.WorkerID].Token != l.row.Token {
			other.start(nil, nil)
		}
	}
	if w.chance(30) {
		forget(w)
	} else {
		loseRows(w) // at least the renewal
	}
	err := renew()
	h.lease, h.grant = nil, Grant{}
	if !errors.Is(err, leasestore.ErrRowMissing) && !errors.Is(err, leasestore.ErrFenceRegressed) {
		w.wrong = append(w.wrong, fmt.Sprint("the holder notices ", err))
	}
	if l, err := h.assigner.Assign(context.Background(), h.domain); err == nil {
		w.wrong = append(w.wrong, fmt.Sprintf("the holder takes %+v at once", l.Grant()))
	}
}

// loseClaim is a failover that loses a single commit, a claim. The next claim may leave the same
// version and fence.
func loseClaim(w *simWorld) {
	if n := len(w.store.commits); n > 0 {
		if last := w.store.commits[n-1]; last.worker >= 0 && last.row.Version < w.store.rows[last.worker].Version {
			w.store.rewind(1)
			w.era++
			w.log("the store has lost the claim of row %d", last.worker)
		}
	}
}

// restore is a restore followed by a recovery whose lead covers the lost commits, including commits
// of the meta row if whole is set.
func restore(w *simWorld, whole bool) {
	var highest int64
	for _, row := range w.store.rows {
		highest = max(highest, row.Fence)
	}
	if !loseRows(w) {
		return
	}
	meta := w.store.meta
	lead := max(highest-simAlloc.Delta(w.store.current().status.Now), 0) + w.rng.Int64N(w.window)
	err := leasestore.Recover(context.Background(), w.store.current(), leasestore.Recovery{Lead: time.Duration(lead) * simUnit})
	if err != nil {
		w.wrong = append(w.wrong, err.Error())
	}
	if !whole {
		w.store.meta.Fence = meta.Fence
	}
	w.store.commits = nil
	w.log("all fences raised by %d", lead)
}

// turnBack moves the clocks of all holders and of the store.
func turnBack(w *simWorld, units int64) {
	w.storeSkew -= units
	for _, h := range w.holders {
		h.offset -= units
	}
	w.log("all clocks go back by %d", units)
}

// deleteRow deletes a row, unless a process that has not seen it counted may be about to create it:
// that process could not notice.
func deleteRow(w *simWorld) {
	worker := w.rng.Int64N(w.workers)
	if w.store.creating[worker] > 0 || slices.ContainsFunc(w.holders, func(h *simHolder) bool { return h.lease == nil && h.counted <= worker }) {
		return
	}
	delete(w.store.rows, worker)
	w.log("row %d deleted", worker)
}

// revokeRow revokes a random row.
func revokeRow(w *simWorld) {
	worker := w.rng.Int64N(w.workers)
	if w.store.rows[worker].Version == 0 {
		return
	}
	row, err := leasestore.Revoke(context.Background(), w.store.current(), leasestore.Revocation{WorkerID: worker})
	if err != nil {
		w.wrong = append(w.wrong, err.Error())
	}
	w.log("row %d revoked: %+v", worker, row)
}

// revokeOr revokes a row, or makes a rarer accident, or does nothing.
func revokeOr(w *simWorld, accident func(*simWorld)) {
	switch n := w.rng.IntN(100); {
	case n < 10:
		revokeRow(w)
	case n < 12:
		accident(w)
	}
}

func recreateRow(w *simWorld) {
	worker := w.rng.Int64N(w.workers)
	w.store.rows[worker] = leasestore.Row{WorkerID: worker, Version: 1}
	w.log("row %d made anew", worker)
}

// cloneHolder resumes a copy of a process in place of another.
func cloneHolder(w *simWorld, invalidate bool) {
	from, to := w.holders[w.rng.IntN(len(w.holders))], w.holders[w.rng.IntN(len(w.holders))]
	original, ok := from.lease.(*lease)
	if !ok || from == to {
		return
	}
	w.log("holder %d becomes a copy of holder %d", to.id, from.id)
	if invalidate {
		to.start(nil, nil)
		return
	}
	copied := *original
	copied.terms.domain, copied.seat = to.domain, &seat{}
	copied.leaser = &leaser{store: simLink{w.store, to}, clock: to.assigner.(*leaser).clock}
	to.start(&copied, from)
}
