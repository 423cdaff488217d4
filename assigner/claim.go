package assigner

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/storecall"
)

// A claim is one call of Assign.
type claim struct {
	leaser *leaser
	terms  terms
	ctx    context.Context
	began  instant
	view   view // at the start of the claim
	meta   leasestore.Meta
	seat   *seat // of Fenced

	listed []leasestore.Row // expired, when last read
	raced  int              // rows lost to other processes
	stuck  int              // new worker IDs lost
}

// run takes a lease. It prefers a kept lease whose quarantine is over.
func (c *claim) run() (l *lease, err error) {
	c.began = c.leaser.clock()
	if c.view, err = c.leaser.look(c.ctx, c.terms); err != nil {
		return nil, err
	}
	if err := c.loadMeta(); err != nil {
		return nil, err
	}
	if c.leaser.source != nil {
		if err := c.reserve(); err != nil {
			return nil, err
		}
	}
	if err := c.recognise(); err != nil {
		return nil, err
	}
	return c.resume()
}

func (c *claim) warn(text string, keysAndValues ...any) { c.leaser.warn(c.ctx, text, keysAndValues...) }

// warn logs a record. The handler of the Logger may need the only connection of a pool.
func (a *leaser) warn(ctx context.Context, text string, keysAndValues ...any) {
	storecall.Pause(ctx)
	a.cfg.Logger.Warn(text, keysAndValues...)
}

// noteFaults logs the faults of the store that AllowUndurable accepts, when they are others than at
// the last look: there may be a look a second.
func (a *leaser) noteFaults(ctx context.Context, faults []string) {
	now := strings.Join(faults, "; ")
	before := a.faults.Swap(&now)
	if now != "" && a.cfg.AllowUndurable && (before == nil || *before != now) {
		a.warn(ctx, "assigner: the store may forget acknowledged changes", "faults", faults,
			"remedy", "correct these settings, and then remove AllowUndurable")
	}
}

// errRaced: another process has changed the row first.
var errRaced = errors.New("assigner: another process was faster")

// compete tries rows as long as other processes are faster, and waits with backoff unless the
// counter of worker IDs has moved.
func (c *claim) compete() (*lease, error) {
	for try := 0; c.ctx.Err() == nil; try++ { //mutate:number tuning of the pause
		candidates, next := c.free, c.meta.NextWorkerID
		if c.leaser.source != nil {
			candidates = c.fixed
		}
		rows, err := candidates()
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if l, err := c.take(row); !errors.Is(err, errRaced) {
				return l, err
			}
		}
		if c.meta.NextWorkerID == next {
			c.leaser.wait(c.ctx, try)
		}
		next = c.meta.NextWorkerID
		if err := c.loadMeta(); err != nil {
			return nil, err
		}
		if c.meta.NextWorkerID != next {
			//mutate:number tuning of the pause
			c.stuck = 0 // the creators of new rows count them
		}
	}
	return nil, fmt.Errorf("assigner: no worker ID in time, %d rows lost to processes that start now: %w", c.raced, c.ctx.Err())
}

// count raises the counter of worker IDs to next, unless another process has.
func (c *claim) count(next int64) error {
	for c.meta.NextWorkerID < next {
		meta := c.meta
		meta.NextWorkerID = next
		if _, err := c.swapMeta(meta); err != nil {
			return err
		}
	}
	return nil
}

// take claims a row that was read as old and confirms the claim, or returns errRaced.
//
// Of a new worker ID it creates the row first: of several processes that want the same worker ID,
// one succeeds. Then it raises the counter, which therefore never passes a worker ID without a row.
// If the process ends in between, other processes count the row, and take it after it has expired.
func (c *claim) take(old leasestore.Row) (*lease, error) {
	fresh := old.Version == 0 && c.leaser.source == nil
	l, err := c.swap(old)
	switch {
	case fresh && errors.Is(err, errRaced):
		return nil, c.lose(old.WorkerID)
	case errors.Is(err, errRaced):
		return nil, err
	case err == nil && fresh:
		err = c.count(old.WorkerID + 1 + c.createSpares(old.WorkerID+1))
	}
	if err == nil {
		err = c.confirm(l)
	}
	switch {
	case err != nil: // free the row, also if only the answer to the swap was lost; or it is free when it expires
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), time.Second)
		defer cancel()
		_ = l.End(ctx, Ending{Released: true})
		return nil, err
	case l.quarantine != nil:
		return nil, c.keep(l, l.remains(c.view.status))
	}
	return l, nil
}

// swap claims a row that was read as old, or returns errRaced when the row has changed since. The
// range that it grants starts above the fence in the predicate of the swap. With another error it
// returns the lease as well, since the row may be claimed.
func (c *claim) swap(old leasestore.Row) (*lease, error) {
	l, ttl := c.newLease(old)
	ctx := c.ctx
	if c.leaser.source == nil {
		ctx = storecall.Impatient(ctx)
	}
	ok, err := c.leaser.store.Swap(ctx, old, l.row, ttl)
	if err != nil {
		found, err := storecall.Swapped(ok, err, old, l.row, l.load(c.ctx))
		if err != nil {
			return l, fmt.Errorf("assigner: claim row %d: %w", old.WorkerID, err)
		}
		ok = found.Same(l.row)
	}
	if !ok {
		c.raced++
		return nil, errRaced
	}
	return l, nil
}

// newLease returns the lease for a claim of a row, and the row's time to live. On a lossy store the
// lease has no deltas, and the row lives as long as the quarantine in addition.
func (c *claim) newLease(old leasestore.Row) (l *lease, ttl time.Duration) {
	fence := c.found(old) //mutate:swap the lease does not depend on the fence
	l = &lease{leaser: c.leaser, terms: c.terms, seat: c.seat, fence: c.meta.Fence,
		server: c.view.status.Identity, renewed: c.began, safe: c.terms.exclusive()}
	l.grant = Grant{WorkerID: old.WorkerID, Guarantee: GuaranteeFenced, Reusable: true, RenewWithin: c.terms.window(), Namespace: c.view.status.Namespace}
	if c.view.status.Lossy || len(c.view.status.Faults) > 0 {
		l.grant.Guarantee = GuaranteeLossy
	}
	l.pace = c.view.fences.begin(c.view.from(c.meta.Fence), c.view.now, fence)
	l.row = leasestore.Row{WorkerID: old.WorkerID, Version: old.Version + 1, Token: cryptorand.Text(), Owner: c.terms.cfg.Owner, Holder: c.leaser.holder, Extra: old.Extra}
	ttl = 2 * c.terms.window() // twice RenewWithin
	l.row.Identity = term(c.meta)
	l.row.Fence = c.view.fences.forClaim(c.view.from(max(c.meta.Fence, c.meta.Horizon)), fence)
	if c.view.status.Lossy {
		isolation := c.terms.span(c.view.fences.quarantine)
		ttl += isolation
		l.safe += isolation
		l.row.Fence = fence
	}
	l.grant.First, l.grant.Last = max(fence, c.meta.Horizon)+1, l.row.Fence
	l.elders = c.inherit(old)
	l.row.Oldest, l.row.Former = l.elders.words(old, c.view.passed, l.grant.First)
	return l, ttl
}

var errMoved = errors.New("assigner: the store has changed during a claim")

// confirm returns errMoved when the store has moved to another server, which may lack commits, when
// a recovery has begun or another bound was stored during the claim, or when the horizon has passed
// its deltas: Assign then begins again. The quarantine of a lease of a lossy store starts here.
func (c *claim) confirm(l *lease) error {
	meta, err := c.leaser.store.LoadMeta(c.ctx)
	if err != nil {
		return fmt.Errorf("assigner: read the meta row again: %w", err)
	}
	l.grant.First = max(l.grant.First, meta.Horizon+1)
	if c.view, err = c.leaser.look(c.ctx, c.terms); err != nil {
		return err
	}
	//mutate:operator in the last unit of a layout a lease without deltas is as good
	passed := !c.view.status.Lossy && l.grant.First > l.grant.Last && l.grant.First <= c.view.fences.end
	switch {
	case c.view.status.Identity != l.server:
		return fmt.Errorf("%w: the server was %q and is %q; if they alternate, use an address that leads to one of them", errMoved, l.server, c.view.status.Identity)
	case meta.Fence != l.fence || term(meta) != l.row.Identity || meta.Recovering() || passed:
		return errMoved
	}
	if c.view.status.Lossy {
		l.quarantine = &quarantine{c.leaser.clock(), c.terms.span(c.view.fences.quarantine), c.view.status}
		l.grant.First = max(l.grant.First, c.view.forgotten(l.fence)+1)
	}
	return nil
}
