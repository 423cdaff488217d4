package assigner

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// A claim is one call of Assign.
type claim struct {
	terms
	ctx    context.Context
	began  instant
	status Status
	meta   Meta
	now    int64 // the delta when the claim began, by this host's clock

	raced    int   // rows that other processes took first
	stuck    int64 // the number lost last
	stuckFor int   // how often in a row
	rivals   int   // numbers lost to processes that have counted them
	advanced bool  // the last round has raised the counter
	ahead    int   // expired rows that were used too far ahead of the clock
	nearest  int64 // the lowest fence of these
}

// run takes a lease, one that comes out of quarantine if there is any.
func (c *claim) run() (l *lease, err error) {
	c.began = c.clock()
	if c.status, c.now, err = c.look(c.ctx); err != nil {
		return nil, err
	}
	if faults := c.status.Faults; len(faults) > 0 {
		c.cfg.Logger.Warn("assigner: the store may forget what it has acknowledged", "faults", faults)
	}
	if err := c.loadMeta(); err != nil {
		return nil, err
	}
	if err := c.checkNamespaces(); err != nil {
		return nil, err
	}
	if l, err := c.resume(); l != nil || err != nil {
		return l, err
	}
	return c.choose(c)
}

// A pool is one way to choose among the worker IDs of a namespace: a single round, which returns
// neither a lease nor an error when it found none.
type pool func(c *claim) (*lease, error)

func recycledFirst(c *claim) (*lease, error) {
	if l, err := c.recycled(func(Row) bool { return true }); l != nil || err != nil {
		return l, err
	}
	return c.fresh()
}

func newFirst(c *claim) (*lease, error) {
	if l, err := c.recycled(Row.unused); l != nil || err != nil {
		return l, err
	}
	if l, err := c.fresh(); l != nil || err != nil || !c.usedUp() {
		return l, err
	}
	return c.recycled(func(Row) bool { return true })
}

// from takes a worker ID from a pool, in as many rounds as other processes are faster.
func (c *claim) from(p pool) (*lease, error) {
	for try := 0; ; try++ {
		raced := c.raced
		l, err := p(c)
		switch {
		case l != nil || err != nil:
			return l, c.blame(err)
		case c.raced == raced && c.usedUp():
			return nil, c.none()
		}
		if err := c.nextRound(try); err != nil {
			return nil, c.blame(err)
		}
	}
}

// nextRound waits, and reads how far the others have come. A round that has counted a row of Fenced
// is followed by the next one at once.
func (c *claim) nextRound(try int) error {
	if c.advanced {
		return c.ctx.Err()
	}
	c.pause(c.ctx, try)
	if err := c.loadMeta(); err != nil {
		return err
	}
	if c.stuckFor > 0 && c.meta.NextWorkerID > c.stuck {
		c.rivals++
		c.stuckFor = 0
	}
	return nil
}

// blame names the competition of other processes as the cause when the time for a claim has ended.
func (c *claim) blame(err error) error {
	if err == nil || c.raced == 0 || c.ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("assigner: no worker ID in time: other processes, which start now too, were faster at %d rows; "+
		"start fewer at once, or allow more time (AssignTimeout): %w", c.raced, err)
}

// usedUp reports whether all numbers of the worker field have been given out.
func (c *claim) usedUp() bool { return c.meta.NextWorkerID > c.domain.MaxWorkerID() }

// none says why there is no worker ID.
func (c *claim) none() error {
	all := c.domain.MaxWorkerID() - c.cfg.FirstWorkerID + 1
	if c.ahead > 0 {
		return passing{fmt.Errorf("%w: all %d have been given out, and %d that are free were used more than %v ahead; wait for the "+
			"clock, set MaxAhead in the generators, or raise MaxLead", ErrWorkerAheadOfClock, all, c.ahead, c.lead(c.status, c.meta.Prepared)), c.until(c.nearest)}
	}
	return passing{fmt.Errorf("%w: all %d have been given out, and none is free; wait until one is released, or use a layout with more "+
		"worker bits, in another namespace and with another DatacenterID or Epoch", ErrWorkersExhausted, all), time.Second}
}

// lead is how far ahead of the clock a fence may lie for its row to be taken. Where the store has
// an identity, the server may be replaced by one that lacks commits, and a quarantine there covers
// lead only, see isolation. By default it is the lead that a holder leaves behind who keeps to the
// clock; prepared is the namespace's.
func (t *terms) lead(status Status, prepared int64) time.Duration {
	switch {
	case t.cfg.MaxLead > 0:
		return t.cfg.MaxLead
	case status.Identity != "" && !status.Lossy:
		return 2*t.window() + time.Duration(prepared)*t.domain.Layout.Unit
	}
	return 24 * time.Hour
}

// farthest is the highest fence of a row that may be taken. After a recovery all fences are ahead
// of the clock, and the lead counts from there.
func (c *claim) farthest() int64 {
	return c.covered(c.alloc.Time(c.now), c.meta.Fence, c.lead(c.status, c.meta.Prepared))
}

// covered returns the delta that lies a span above the clock, or above the namespace's fence where
// that is higher.
func (t *terms) covered(clock time.Time, fence int64, span time.Duration) int64 {
	most := t.alloc.MaxDelta()
	return max(min(t.alloc.Delta(clock.Add(span)), most), above(fence, int64(span/t.domain.Layout.Unit), most))
}

// until is the time from now until a row with this fence may be taken.
func (c *claim) until(fence int64) time.Duration {
	return time.Duration(fence-c.farthest()) * c.domain.Layout.Unit
}

const (
	// candidates is how many expired rows a claim reads at first: enough that processes that start
	// at once try different ones.
	candidates = 256
	// attempts is how many of them it tries in a round: when so many are lost, there are more
	// processes than rows.
	attempts = 8
)

// recycled takes an expired row that suits, one with a fence in the past if there is any. It reads
// more rows only where none of those read may be taken.
func (c *claim) recycled(suits func(Row) bool) (*lease, error) {
	for n := candidates; ; n *= 8 {
		rows, err := c.store.Expired(c.ctx, n)
		if err != nil {
			return nil, fmt.Errorf("assigner: list the expired rows: %w", err)
		}
		usable := c.usable(slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return !suits(r) }))
		for _, row := range usable[:min(attempts, len(usable))] {
			if l, err := c.take(row); l != nil || err != nil {
				return l, err
			}
		}
		if len(usable) > 0 || len(rows) < n {
			return nil, nil
		}
	}
}

// usable returns the rows that may be taken, those with fences in the past first, and those last
// that need a quarantine. It counts those whose fence lies too far in the future. A row that is not
// counted yet is left to fresh: if it were deleted, its number would be given out again.
func (c *claim) usable(rows []Row) []Row {
	var past, future, suspect []Row
	c.ahead, c.nearest = 0, math.MaxInt64
	for _, row := range rows {
		switch {
		case row.Expires.After(c.status.Now), row.WorkerID > c.domain.MaxWorkerID(), row.WorkerID >= c.meta.NextWorkerID:
		case row.Fence > c.farthest():
			c.ahead++
			c.nearest = min(c.nearest, row.Fence)
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
	return slices.Concat(past, future, suspect)
}

// spares is how many rows a claim creates for others that start at the same time, after it has lost
// so many numbers to them. A store that creates them one by one makes fewer.
func spares(rivals int, atOnce bool) int64 {
	switch {
	case !atOnce:
		return min(8*int64(rivals), 32)
	case rivals == 0:
		return 0
	case rivals == 1:
		return 64
	}
	return 256
}

// fresh takes the next number that was never given out. Its row is created first, and its key
// arbitrates between processes that want the same number; then it is counted, so that the counter
// never passes a number without a row. A process that ends in between leaves a row that others
// count, and take when it has expired.
//
// A process that has lost rows to others before creates rows for them, too, more at each loss:
// processes that start at once then find free rows, in place of one number for all.
func (c *claim) fresh() (*lease, error) {
	passing := c.advanced
	c.advanced = false
	number := c.meta.NextWorkerID
	if c.usedUp() {
		return nil, nil
	}
	l, ok, err := c.swap(Row{WorkerID: number})
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, c.lose(number, passing)
	}
	if err := c.count(number + 1 + c.createSpares(number+1)); err != nil {
		l.giveUp()
		return nil, err
	}
	return c.confirm(l)
}

// createSpares creates rows from a number on for other processes, and returns how many there are.
func (c *claim) createSpares(first int64) (n int64) {
	several, atOnce := c.store.(Creator)
	rows := make([]Row, min(spares(c.rivals, atOnce), c.domain.MaxWorkerID()-first+1))
	for i := range rows {
		rows[i] = Row{WorkerID: first + int64(i), Version: 1, Fence: c.meta.Fence, Identity: c.meta.Identity}
	}
	if len(rows) > 0 && atOnce {
		if err := several.CreateFree(c.ctx, rows, -c.cfg.MaxSkew); err != nil {
			return 0 // they may be there or not, and are not counted
		}
		return int64(len(rows))
	}
	for _, row := range rows {
		if _, err := c.store.Swap(c.ctx, Row{}, row, -c.cfg.MaxSkew); err != nil {
			break
		}
		n++
	}
	return n
}

// patience is how often a claim loses the same number before it counts the number for its creator,
// which may have ended.
const patience = 4

// lose notes that another process has created the row of a number. Its creator counts it, unless it
// has ended, or is a Fenced one: past such a row the next ones are counted at once.
func (c *claim) lose(number int64, passing bool) error {
	c.raced++
	if c.stuck != number {
		c.stuck, c.stuckFor = number, 0
	}
	if c.stuckFor++; c.stuckFor < patience && !passing {
		return nil
	}
	return c.count(number + 1)
}

// count raises the counter of numbers to next, unless another process has.
func (c *claim) count(next int64) error {
	for try := 0; c.meta.NextWorkerID < next; try++ {
		meta := c.meta
		meta.NextWorkerID = next
		ok, err := c.swapMeta(meta)
		if err != nil {
			return fmt.Errorf("assigner: count the worker IDs: %w", err)
		}
		if c.advanced = ok; c.meta.NextWorkerID < next {
			c.pause(c.ctx, try)
		}
	}
	return nil
}

// backOff waits for a moment, longer at each try, so that processes that start at once do not meet
// again.
func backOff(ctx context.Context, try int) {
	const shortest, longest = 50 * time.Millisecond, 1500 * time.Millisecond
	select {
	case <-time.After(rand.N(min(shortest<<min(try, 10), longest))):
	case <-ctx.Done():
	}
}

// fixed takes a given number, unless another owner holds it.
func (c *claim) fixed(workerID int64) (*lease, error) {
	if err := c.mayHave(workerID); err != nil {
		return nil, err
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
			return nil, passing{fmt.Errorf("%w: row %d was used more than %v ahead; wait for the clock, set MaxAhead in the generator, or "+
				"raise MaxLead", ErrWorkerAheadOfClock, workerID, c.lead(c.status, c.meta.Prepared)), c.until(row.Fence)}
		}
		row.WorkerID = workerID
		if l, err := c.take(row); l != nil || err != nil {
			c.enter(l)
			return l, err
		}
	}
	return nil, c.ctx.Err()
}

// mayHave returns an error for a number that is not the namespace's, or that a generator of this
// process has.
func (c *claim) mayHave(workerID int64) error {
	if err := c.domain.CheckWorkerID(workerID, "Fenced"); err != nil {
		return err
	}
	if workerID < c.cfg.FirstWorkerID {
		return fmt.Errorf("%w: %d from Fenced, allowed with FirstWorkerID %d: %d to %d", ErrWorkerOutOfRange, workerID,
			c.cfg.FirstWorkerID, c.cfg.FirstWorkerID, c.domain.MaxWorkerID())
	}
	return c.heldHere(workerID)
}

// take claims a row that was read as old. It returns neither a lease nor an error when another
// process was faster.
func (c *claim) take(old Row) (*lease, error) {
	l, ok, err := c.swap(old)
	if err != nil {
		return nil, err
	}
	if !ok {
		c.raced++
		return nil, nil
	}
	return c.confirm(l)
}

// swap claims a row that was read as old, and reports false when it has changed since. The slice
// that it grants begins above the fence in the predicate of the swap, and nowhere else.
func (c *claim) swap(old Row) (*lease, bool, error) {
	l, ttl := c.grant(old)
	ok, err := c.store.Swap(c.ctx, old, l.row, ttl)
	if err != nil {
		// It is not known whether the swap took effect: that is not success. The token tells.
		found, errLoad := c.store.Load(c.ctx, old.WorkerID)
		if errLoad != nil || !found.Same(l.row) {
			return nil, false, fmt.Errorf("assigner: claim row %d: %w", old.WorkerID, errors.Join(err, errLoad))
		}
		ok = true
	}
	return l, ok, nil
}

// grant returns the lease that a claim of a row makes, and how long the row is held. A row in
// quarantine is claimed without deltas.
func (c *claim) grant(old Row) (l *lease, ttl time.Duration) {
	fence := max(old.Fence, c.meta.Fence)
	l = &lease{terms: c.terms, namespace: c.meta.Namespace, fence: c.meta.Fence, prepared: c.meta.Prepared, guarantee: GuaranteeFenced,
		server: c.status.Identity, renewed: c.began, exclusive: c.holds()}
	if c.status.Lossy || len(c.status.Faults) > 0 {
		l.guarantee = GuaranteeLossy
	}
	// The deltas that the generator prepares first do not count as use.
	l.pace = pace{used: max(fence, c.now) + c.domain.Prepared, at: c.now, span: c.units()}
	l.row = Row{WorkerID: old.WorkerID, Version: old.Version + 1, Token: cryptorand.Text(), Owner: c.cfg.Owner, Holder: c.holder}
	ttl = 2 * c.window()
	if reason := c.suspicion(old); reason != "" {
		isolation := c.isolation(c.status, c.meta.Prepared)
		ttl += isolation
		l.exclusive += isolation
		l.quarantine = &quarantine{reason: reason}
		l.row.Identity, l.row.Fence = old.Identity, fence
	} else {
		l.row.Identity = c.status.Identity
		l.row.Fence = max(fence, c.reach(c.status, max(fence, c.now), c.domain.Prepared+c.units()))
	}
	l.first, l.limit = fence+1, l.row.Fence
	return l, ttl
}

var errMoved = errors.New("assigner: the store has changed during a claim")

// confirm looks at the store again after a claim, and hands the lease out or keeps it in
// quarantine.
func (c *claim) confirm(l *lease) (*lease, error) {
	if err := c.lookAgain(l); err != nil {
		l.giveUp()
		return nil, err
	}
	if l.quarantine != nil {
		c.keep(l)
		return nil, l.remains(c.status)
	}
	return l, nil
}

// giveUp frees the row of a lease that is not handed out. Where that fails, it is free when it
// expires. A row that the lease has created becomes a row without a holder again.
func (l *lease) giveUp() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if l.row.Version == 1 {
		unused := l.row
		unused.Token, unused.Owner, unused.Holder = "", "", ""
		_, _ = l.store.Swap(ctx, l.row, unused, -l.cfg.MaxSkew)
		return
	}
	_ = l.Release(ctx, 0)
}

// lookAgain returns an error when something has overtaken the claim: a move to another server,
// which may lack commits, or a recovery of rows that were lost. A quarantine, if there is a reason,
// begins now.
func (c *claim) lookAgain(l *lease) error {
	meta, err := c.store.LoadMeta(c.ctx)
	if err != nil {
		return fmt.Errorf("assigner: read the meta row again: %w", err)
	}
	if meta.Fence != l.fence || meta.recovering() {
		return fmt.Errorf("%w: all fences have been raised to %d; try again", errMoved, meta.Fence)
	}
	if c.status.Identity == "" && l.quarantine == nil {
		return nil
	}
	status, err := c.store.Status(c.ctx)
	if err != nil {
		return fmt.Errorf("assigner: look at the store again: %w", err)
	}
	if status.Identity != c.status.Identity {
		return fmt.Errorf("%w: the server was %q and is %q; try again", errMoved, c.status.Identity, status.Identity)
	}
	if l.quarantine != nil {
		c.status = status
		isolation := c.isolation(status, c.meta.Prepared)
		forgotten := c.covered(status.Now, l.fence, isolation)
		l.quarantine.begin(status, c.clock(), isolation, forgotten)
		l.first = max(l.first, forgotten+1)
	}
	return nil
}
