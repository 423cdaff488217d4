package assigner

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// A claim is one call of Assign.
type claim struct {
	terms
	ctx    context.Context
	status Status
	meta   Meta
	now    int64 // the delta when the claim began, by this host's clock
}

// run takes a lease, one that comes out of quarantine if there is any.
func (c *claim) run() (l *lease, err error) {
	if c.status, c.now, err = c.look(c.ctx); err != nil {
		return nil, err
	}
	c.warn()
	if err := c.checkMeta(); err != nil {
		return nil, err
	}
	if l, err := c.resume(); l != nil || err != nil {
		return l, err
	}
	return c.choose(c)
}

// warn says what is accepted although it is not safe.
func (c *claim) warn() {
	if faults := c.status.Faults; len(faults) > 0 {
		c.cfg.Logger.Warn("assigner: the store may forget what it has acknowledged", "faults", faults)
	}
}

// checkMeta reads how IDs are composed in this namespace, and writes it if nobody has.
func (c *claim) checkMeta() (err error) {
	for c.ctx.Err() == nil {
		if c.meta, err = c.store.LoadMeta(c.ctx); err != nil {
			return fmt.Errorf("assigner: read the meta row: %w", err)
		}
		if c.meta.Version != 0 {
			return c.meta.mismatch(c.domain, c.cfg.FirstWorkerID)
		}
		first := Meta{Version: 1, Namespace: cryptorand.Text(), Layout: c.domain.Layout, Epoch: c.domain.Epoch, DatacenterID: c.domain.DatacenterID,
			Token: cryptorand.Text(), Identity: c.status.Identity,
			FirstWorkerID: c.cfg.FirstWorkerID, NextWorkerID: c.cfg.FirstWorkerID, Prepared: c.domain.Prepared}
		// Whether it took effect is seen by reading again.
		if _, err := c.store.SwapMeta(c.ctx, Meta{}, first); err != nil {
			return fmt.Errorf("assigner: write the meta row: %w", err)
		}
	}
	return c.ctx.Err()
}

func (c *claim) recycledFirst() (*lease, error) {
	l, ahead, err := c.recycled()
	if l != nil || err != nil {
		return l, err
	}
	if l, err = c.fresh(); l != nil || err != nil {
		return l, err
	}
	return nil, c.none(ahead)
}

func (c *claim) newFirst() (*lease, error) {
	if l, err := c.fresh(); l != nil || err != nil {
		return l, err
	}
	l, ahead, err := c.recycled()
	if l != nil || err != nil {
		return l, err
	}
	return nil, c.none(ahead)
}

// none says why there is no worker ID.
func (c *claim) none(ahead int) error {
	if ahead > 0 {
		return fmt.Errorf("%w: %d of %d are free, all with fences more than %v ahead; wait, or raise MaxLead",
			ErrWorkerAheadOfClock, ahead, c.domain.MaxWorkerID()+1, c.cfg.MaxLead)
	}
	return fmt.Errorf("%w: all %d have been given out, and none is free; wait until one is released, or use a layout with more "+
		"worker bits, in another namespace and with another DatacenterID or Epoch", ErrWorkersExhausted, c.domain.MaxWorkerID()+1)
}

// farthest is the highest fence of a row that may be taken.
func (c *claim) farthest() int64 { return c.now + int64(c.cfg.MaxLead/c.domain.Layout.Unit) }

// candidates is how many expired rows a claim reads: enough that processes that start at once choose different ones.
const candidates = 256

// recycled takes a row that nobody holds, one with a fence in the past if there is any. ahead counts
// the rows whose fence lies too far in the future.
func (c *claim) recycled() (l *lease, ahead int, err error) {
	rows, err := c.store.Expired(c.ctx, candidates)
	if err != nil {
		return nil, 0, fmt.Errorf("assigner: list the expired rows: %w", err)
	}
	var past, future, suspect []Row
	for _, row := range rows {
		switch {
		case row.Expires.After(c.status.Now) || row.WorkerID > c.domain.MaxWorkerID():
		case row.Fence > c.farthest():
			ahead++
		case c.suspicion(row) != "":
			suspect = append(suspect, row)
		case row.Fence > c.now:
			future = append(future, row)
		default:
			past = append(past, row)
		}
	}
	// In random order, so that processes that start at once do not all try the same row.
	for _, rows := range [][]Row{past, future, suspect} {
		c.shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	}
	// The nearest first, by windows: by units, all would try the same one.
	slices.SortStableFunc(future, func(a, b Row) int { return cmp.Compare((a.Fence-c.now)/c.units(), (b.Fence-c.now)/c.units()) })
	for _, row := range slices.Concat(past, future, suspect) {
		if l, err = c.take(row); l != nil || err != nil {
			return l, ahead, err
		}
	}
	return nil, ahead, nil
}

// fresh takes the next number that was never given out, or none when there is none left. It is counted first: nobody else
// will ever create its row. Where that fails now, the number is wasted.
func (c *claim) fresh() (*lease, error) {
	for try := 0; c.ctx.Err() == nil; try++ {
		number := c.meta.NextWorkerID
		if number > c.domain.MaxWorkerID() {
			return nil, nil
		}
		next := c.meta
		next.NextWorkerID++
		ok, err := c.swapMeta(next)
		if err != nil {
			return nil, fmt.Errorf("assigner: count the worker IDs: %w", err)
		}
		if !ok {
			c.pause(c.ctx, try)
			continue
		}
		if l, err := c.take(Row{WorkerID: number}); l != nil || err != nil {
			return l, err
		}
	}
	return nil, c.ctx.Err()
}

// backOff waits for a moment, longer at each try, so that processes that start at once do not meet again.
func backOff(ctx context.Context, try int) {
	const longest = 200 * time.Millisecond
	select {
	case <-time.After(rand.N(min(time.Millisecond<<min(try, 10), longest))):
	case <-ctx.Done():
	}
}

// swapMeta replaces the meta row that was read by next. It returns false when somebody else was faster; the meta row has
// then been read again, as it has after true.
func (c *claim) swapMeta(next Meta) (bool, error) {
	next.Version++
	next.Token = cryptorand.Text()
	ok, errSwap := c.store.SwapMeta(c.ctx, c.meta, next)
	if ok && errSwap == nil {
		c.meta = next
		return true, nil
	}
	if err := c.checkMeta(); err != nil {
		return false, errors.Join(errSwap, err)
	}
	if c.meta.same(next) { // the answer was lost
		return true, nil
	}
	return false, errSwap
}

// fixed takes a given number, unless another owner holds it.
func (c *claim) fixed(workerID int64) (*lease, error) {
	if err := c.domain.CheckWorkerID(workerID, "Fenced"); err != nil {
		return nil, err
	}
	if workerID < c.cfg.FirstWorkerID {
		return nil, fmt.Errorf("%w: %d from Fenced, allowed with FirstWorkerID %d: %d to %d", ErrWorkerOutOfRange, workerID,
			c.cfg.FirstWorkerID, c.cfg.FirstWorkerID, c.domain.MaxWorkerID())
	}
	for c.ctx.Err() == nil {
		row, err := c.store.Load(c.ctx, workerID)
		if err != nil {
			return nil, fmt.Errorf("assigner: read row %d: %w", workerID, err)
		}
		if err := c.taken(row); err != nil {
			return nil, err
		}
		if row.Fence > c.farthest() {
			return nil, fmt.Errorf("%w: row %d has a fence more than %v ahead; wait, or raise MaxLead", ErrWorkerAheadOfClock, workerID, c.cfg.MaxLead)
		}
		row.WorkerID = workerID
		if l, err := c.take(row); l != nil || err != nil {
			return l, err
		}
	}
	return nil, c.ctx.Err()
}

// taken says why a row cannot be had that is held, or returns nil.
func (c *claim) taken(row Row) error {
	switch {
	case row.Token == "" || !row.Expires.After(c.status.Now):
		return nil
	case row.Owner != c.cfg.Owner:
		return fmt.Errorf("%w: row %d is held by %q until %s by the store's clock, here %q; give each a number of its own",
			ErrWorkerInUse, row.WorkerID, row.Owner, stamp(row.Expires), c.cfg.Owner)
	case c.status.Lossy:
		return &QuarantineError{row.WorkerID, row.Expires.Sub(c.status.Now), "the store may forget that it was taken from a process of the same owner"}
	}
	return nil
}

// take claims a row that was read as old. It returns neither a lease nor an error when somebody else was
// faster. The slice that it grants begins above the fence in the predicate of the swap, and nowhere else.
func (c *claim) take(old Row) (*lease, error) {
	fence := max(old.Fence, c.meta.Fence)
	l := &lease{terms: c.terms, namespace: c.meta.Namespace, guarantee: GuaranteeFenced, server: c.status.Identity}
	if c.status.Lossy || len(c.status.Faults) > 0 {
		l.guarantee = GuaranteeLossy
	}
	l.pace = pace{used: max(fence, c.now), at: c.now, span: c.units()}
	l.row = Row{WorkerID: old.WorkerID, Version: old.Version + 1, Token: cryptorand.Text(), Owner: c.cfg.Owner}
	reason := c.suspicion(old)
	ttl := 2 * c.window()
	if reason != "" { // claimed, and granted nothing yet
		ttl += c.isolation(c.status)
		l.row.Identity, l.row.Fence = old.Identity, fence
		l.ends = c.status.Now.Add(ttl)
	} else {
		l.row.Identity = c.status.Identity
		l.row.Fence = max(fence, c.reach(c.status, max(fence, c.now), c.domain.Prepared+c.units()))
		l.ends = c.sure(c.status)
	}
	l.first, l.limit = fence+1, l.row.Fence
	ok, err := c.store.Swap(c.ctx, old, l.row, ttl)
	if err != nil {
		// It is not known whether the swap took effect: that is not success. The token tells.
		found, errLoad := c.store.Load(c.ctx, old.WorkerID)
		if errLoad != nil || !found.same(l.row) {
			return nil, fmt.Errorf("assigner: claim row %d: %w", old.WorkerID, errors.Join(err, errLoad))
		}
		ok = true
	}
	if !ok {
		return nil, nil
	}
	if err := c.confirm(l, reason); err != nil {
		_ = l.Release(c.ctx, 0) // or it is free when it expires
		return nil, err
	}
	if l.quarantine != nil {
		c.keep(l)
		return nil, l.remains(c.status)
	}
	return l, nil
}

var errMoved = errors.New("assigner: the store has changed during a claim")

// confirm looks at the store again after a claim. It may have been overtaken: by a move to another server, which may lack
// commits, or by a recovery, where the row is one that was lost. A quarantine, if there is reason for one, begins now.
func (c *claim) confirm(l *lease, reason string) error {
	meta, err := c.store.LoadMeta(c.ctx)
	if err != nil {
		return fmt.Errorf("assigner: read the meta row again: %w", err)
	}
	if meta.Fence != c.meta.Fence {
		return fmt.Errorf("%w: all fences have been raised to %d; try again", errMoved, meta.Fence)
	}
	if c.status.Identity == "" && reason == "" {
		return nil
	}
	status, err := c.store.Status(c.ctx)
	if err != nil {
		return fmt.Errorf("assigner: look at the store again: %w", err)
	}
	if status.Identity != c.status.Identity {
		return fmt.Errorf("%w: the server was %q and is %q; try again", errMoved, c.status.Identity, status.Identity)
	}
	if reason != "" {
		c.status = status
		l.quarantine = &quarantine{until: status.Now.Add(c.isolation(status)), server: status.Identity, reason: reason}
		l.first = max(l.first, c.alloc.Delta(l.quarantine.until)+1)
	}
	return nil
}
