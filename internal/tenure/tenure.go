// Package tenure holds a worker ID for a generator: it takes a lease, keeps it alive, and takes another
// when it is lost. It runs beside the generator, so that a slow store never delays an ID.
package tenure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/uidring/uidring/assigner"
)

// heartbeat is the time between the beginnings of two renewals, each bounded by renewTimeout and by
// AssignTimeout: a renewal has ended one minute after the one before began, as leases are promised.
const (
	heartbeat    = 45 * time.Second
	renewTimeout = time.Minute - heartbeat
)

// A Config says for whom a worker ID is held. Used and Ended are called by the tenure's goroutine, by
// Invalidate and by Close; they must not block.
type Config struct {
	Assigner assigner.Assigner
	Domain   assigner.Domain
	Timeout  time.Duration // bounds each call to the store
	Logger   *slog.Logger
	Trace    Trace

	// Used returns the highest delta put to use so far.
	Used func() int64
	// Position returns the delta that the generator has come to: Used, or its clock where that is ahead.
	Position func() int64
	// Begin, unless nil, is called once for each lease, when Current shows it.
	Begin func()
	// Ended is called when a lease is withdrawn: at Invalidate, at Close, and at a loss that leaves
	// nothing to use. When it returns, no ID is composed or issued under that lease any more.
	Ended func()
}

// Trace holds the user's funcs, nil or not.
type Trace struct {
	Assigned    func(assigner.Grant)
	Lost        func(workerID int64, err error)
	RenewFailed func(err error)
	Kept        func(workerID int64)
}

// A Tenure is the holding of worker IDs over the life of a generator.
type Tenure struct {
	cfg     Config
	current atomic.Pointer[Holding] // nil while no worker ID is held
	latest  atomic.Pointer[Holding] // the last that was not nil
	want    atomic.Int64            // the delta that Extend asked for
	news    Bell                    // rings after a change of current
	poke    chan struct{}           // capacity 1: look at current and want
	cancel  context.CancelFunc
	group   *errgroup.Group

	// Owned by the goroutine; by Start before it, by Close after it.
	lease assigner.Lease
	hold  *assigner.Hold
	delay time.Duration // before the next try, after a failure
	given bool          // the store has given all that it gives at present

	reported string // the trouble that was logged last: outage, or why there is no lease yet; "" when all is well

	renewals, failures atomic.Int64
	trouble            atomic.Pointer[error] // why the last call to the store failed; nil when it did not

	// ending is held by Invalidate, and where a lease that was taken meanwhile must not become the current one.
	ending      sync.Mutex
	invalidated int // calls of Invalidate
}

// outage is the trouble of a store that fails.
const outage = "outage"

// errInvalidated is why a lease is dropped that was being taken when Invalidate was called.
var errInvalidated = errors.New("tenure: invalidated")

// Start takes the first lease within ctx and keeps it until Close.
func Start(ctx context.Context, cfg Config) (*Tenure, error) {
	t := &Tenure{cfg: cfg, poke: make(chan struct{}, 1)}
	if err := t.first(ctx); err != nil {
		return nil, err
	}
	t.reported = ""
	background, cancel := context.WithCancel(context.Background())
	t.cancel = cancel
	t.group, background = errgroup.WithContext(background)
	t.group.Go(func() error {
		t.run(background)
		return nil
	})
	return t, nil
}

// Current returns what may be used, or nil while no worker ID is held.
func (t *Tenure) Current() *Holding { return t.current.Load() }

// Latest returns what may be used, or was used last.
func (t *Tenure) Latest() *Holding { return t.latest.Load() }

// Counts returns how many renewals succeeded, and how many calls to the store failed.
func (t *Tenure) Counts() (renewals, failures int64) {
	return t.renewals.Load(), t.failures.Load()
}

// Shortage words, under the sentinel of a generator, why nothing may be composed for the next unit.
func (t *Tenure) Shortage(sentinel error) error {
	var state error
	switch h := t.current.Load(); {
	case h == nil:
		state = fmt.Errorf("%w: worker %d is no longer held", sentinel, t.latest.Load().WorkerID)
	case h.lost:
		state = fmt.Errorf("%w: worker %d is no longer held, and its grant ends at delta %d", sentinel, h.WorkerID, h.Limit)
	default:
		state = fmt.Errorf("%w: worker %d may be used up to delta %d", sentinel, h.WorkerID, h.Limit)
	}
	if trouble := t.trouble.Load(); trouble != nil {
		return fmt.Errorf("%w; last answer of the store: %w", state, *trouble)
	}
	return state
}

// News returns a channel that is closed by the next change for the better: a worker ID, a higher limit.
func (t *Tenure) News() <-chan struct{} { return t.news.Wait() }

// Extend asks for a grant that reaches up to delta. It does not wait; News tells when it is there.
func (t *Tenure) Extend(delta int64) {
	for old := t.want.Load(); delta > old; old = t.want.Load() {
		if t.want.CompareAndSwap(old, delta) {
			t.wake()
			return
		}
	}
}

// Invalidate withdraws the holding and takes a new lease in the background. The old one is not
// released: a copy of this process may be using it.
func (t *Tenure) Invalidate() {
	t.ending.Lock()
	t.invalidated++
	t.current.Store(nil)
	t.cfg.Ended()
	t.ending.Unlock()
	t.cfg.Logger.Info("worker ID invalidated", "worker", t.latest.Load().WorkerID)
	t.wake()
}

// invalidations waits for a call of Invalidate that is under way, and counts.
func (t *Tenure) invalidations() int {
	t.ending.Lock()
	defer t.ending.Unlock()
	return t.invalidated
}

// publish makes h the current holding, unless Invalidate has been called since count was taken.
func (t *Tenure) publish(h *Holding, count int) bool {
	t.ending.Lock()
	defer t.ending.Unlock()
	if t.invalidated != count {
		return false
	}
	t.latest.Store(h)
	t.current.Store(h)
	if t.cfg.Begin != nil {
		h.Begin.Do(t.cfg.Begin)
	}
	return true
}

// Close stops the background work, waits for it, ends the holding, and releases the worker ID within
// the timeout. It must be called once.
func (t *Tenure) Close() error {
	t.cancel()
	_ = t.group.Wait() // run has no error to return
	h := t.current.Swap(nil)
	t.cfg.Ended()
	used := t.cfg.Used()
	t.hold.End(used)
	if h == nil || h.lost {
		return nil // there is nothing to give back
	}
	ctx, cancel := context.WithTimeout(context.Background(), t.cfg.Timeout)
	defer cancel()
	if err := guarded("Release", func() error { return t.lease.Release(ctx, used) }); err != nil {
		t.cfg.Logger.Warn("worker ID not released", "worker", h.WorkerID, "error", err)
		return err
	}
	t.cfg.Logger.Info("worker ID released", "worker", h.WorkerID)
	return nil
}

func (t *Tenure) wake() {
	select {
	case t.poke <- struct{}{}:
	default:
	}
}

func (t *Tenure) run(ctx context.Context) {
	timer := time.NewTimer(t.untilRenewal())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.poke:
			if t.delay > 0 || t.given {
				continue // the pause is kept, and the step after it sees what is wanted
			}
		case <-timer.C:
		}
		timer.Reset(t.step(ctx))
	}
}

// step does what is due and returns how long to wait for the next step.
func (t *Tenure) step(ctx context.Context) time.Duration {
	started := time.Now()
	h := t.current.Load()
	count := t.invalidations() // after h: a call of Invalidate that has cleared it has also ended it by then
	renewing := h != nil && !h.lost
	var err error
	if renewing {
		err = t.renew(ctx, h)
	} else {
		t.hold.End(t.cfg.Used())
		err = t.assign(ctx, count)
	}
	switch {
	case ctx.Err() != nil:
		return heartbeat // Close is waiting
	case err == nil:
		t.trouble.Store(nil)
		if t.reported == outage {
			t.answered(renewing)
		}
		t.delay, t.reported = 0, ""
		return t.untilRenewal() - time.Since(started) // whatever AssignTimeout is, a slow renewal does not delay the next
	case errors.Is(err, errInvalidated), renewing && errors.Is(err, assigner.ErrWorkerRowLost):
		return 0
	}
	t.trouble.Store(&err)
	if pause, ok := t.pause(err); ok && !renewing {
		t.logWait(err)
		t.delay = pause
		return t.delay
	}
	t.failures.Add(1)
	if t.reports(outage) {
		t.cfg.Logger.Warn("worker ID: call to the store failed", "worker", t.latest.Load().WorkerID, "error", err)
	}
	if t.cfg.Trace.RenewFailed != nil {
		Call(t.cfg.Logger, "Trace.RenewFailed", func() { t.cfg.Trace.RenewFailed(err) })
	}
	t.delay = nextDelay(t.delay)
	return t.delay
}

// answered reports the end of an outage. A worker ID that is another one has been reported as assigned.
func (t *Tenure) answered(kept bool) {
	worker := t.latest.Load().WorkerID
	t.cfg.Logger.Info("worker ID: the store answers again", "worker", worker)
	if kept && t.cfg.Trace.Kept != nil {
		Call(t.cfg.Logger, "Trace.LeaseKept", func() { t.cfg.Trace.Kept(worker) })
	}
}

// renew renews the lease behind h.
func (t *Tenure) renew(ctx context.Context, h *Holding) error {
	ctx, cancel := context.WithTimeout(ctx, min(t.cfg.Timeout, renewTimeout))
	defer cancel()
	position := t.cfg.Position() // first: it waits for a padding pass, which used then covers
	used := t.cfg.Used()
	var grant assigner.Grant
	err := guarded("Renew", func() error {
		if err := t.lease.Renew(ctx, used, max(position, t.want.Load())); err != nil {
			return err
		}
		grant = t.lease.Grant()
		if grant.WorkerID != h.WorkerID {
			return fmt.Errorf("%w: a renewal of worker %d has returned worker %d", assigner.ErrWorkerRowLost, h.WorkerID, grant.WorkerID)
		}
		return nil
	})
	if errors.Is(err, assigner.ErrWorkerRowLost) {
		t.lose(h, err)
		return err
	}
	if err != nil {
		return err
	}
	t.renewals.Add(1)
	t.given = grant.Guarantee == assigner.GuaranteeLossy && grant.Limit < t.want.Load()
	renewed := *h
	renewed.grow(position, grant.Limit, t.cfg.Domain.Layout.Unit) // nothing else of a grant may change
	if t.current.CompareAndSwap(h, &renewed) {                    // fails after Invalidate
		t.latest.Store(&renewed)
		if renewed.Limit != h.Limit {
			t.news.Ring()
		}
	}
	return nil
}

// untilRenewal is how long to wait before the next renewal: as long as the lease may do without one, or half of the time that
// the clock takes to come to the limit. A generator that uses deltas faster than the clock asks for more by itself.
func (t *Tenure) untilRenewal() time.Duration {
	longest := heartbeat
	if l, ok := t.lease.(assigner.Expiring); ok {
		longest = max(min(longest, l.RenewWithin()), shortestPause)
	}
	h := t.current.Load()
	if h == nil || !h.Fenced() {
		return longest
	}
	unit := t.cfg.Domain.Layout.Unit
	left := h.Limit - t.cfg.Position()
	switch {
	case left <= 0 && h.Guarantee == assigner.GuaranteeLossy: // its fences follow its clock
		return min(longest, time.Second)
	case left <= 0 || left >= int64(2*longest/unit): // a store that gives no more is asked again when it is needed
		return longest
	}
	return max(time.Duration(left)*unit/2, shortestPause)
}

// lose notes that the lease behind h has ended. Its grant stays current as far as it may be used up.
func (t *Tenure) lose(h *Holding, err error) {
	left := t.remainder(h, err)
	if !t.current.CompareAndSwap(h, left) { // after Invalidate
		return
	}
	t.trouble.Store(&err)
	if left != nil {
		t.latest.Store(left)
		// IDs above a limit that was lowered may be prepared. Used waits for the pass that composes
		// under the old one.
		if left.Limit < h.Limit && t.cfg.Used() > left.Limit && t.current.CompareAndSwap(left, nil) {
			left = nil
		}
	}
	if left == nil {
		t.cfg.Ended()
	}
	t.cfg.Logger.Error("worker ID lost", "worker", h.WorkerID, "error", err)
	if t.cfg.Trace.Lost != nil {
		Call(t.cfg.Logger, "Trace.LeaseLost", func() { t.cfg.Trace.Lost(h.WorkerID, err) })
	}
}

// remainder returns h as it may be used after the loss of its lease, or nil when the worker ID may
// have a new holder in the same deltas.
func (t *Tenure) remainder(h *Holding, err error) *Holding {
	if !h.Fenced() || forgotten(err) {
		return nil
	}
	var grant assigner.Grant
	if guarded("Grant", func() error { grant = t.lease.Grant(); return nil }) != nil || grant.WorkerID != h.WorkerID {
		return nil
	}
	left := *h
	left.Limit = min(h.Limit, grant.Limit)
	left.Half = math.MaxInt64 // more is not to be had
	left.lost = true
	return &left
}

// forgotten reports whether a store has lost a fence, and may hand out the same deltas again.
func forgotten(err error) bool {
	return errors.Is(err, assigner.ErrFenceRegressed) || errors.Is(err, assigner.ErrWorkerRowMissing) ||
		errors.Is(err, assigner.ErrNamespaceRecreated)
}

// assign takes a lease and makes its grant the current one, unless Invalidate has been called since count
// was taken: the lease may be older than the copy of the process, which then has it, too.
func (t *Tenure) assign(ctx context.Context, count int) error {
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, t.cfg.Timeout)
	defer cancel()
	lease, grant, delta, err := t.ask(ctx)
	if err != nil {
		if ctx.Err() != nil && outer.Err() == nil {
			return fmt.Errorf("no answer within AssignTimeout, %v: %w", t.cfg.Timeout, err)
		}
		return err
	}
	hold, grant, err := t.admit(grant)
	if err != nil {
		return errors.Join(err, guarded("Release", func() error { return lease.Release(ctx, 0) }))
	}
	t.lease, t.hold = lease, hold
	h := &Holding{Grant: grant, Term: 1, Begin: new(sync.Once), Delta: delta}
	if last := t.latest.Load(); last != nil {
		h.Term = last.Term + 1
	}
	if h.Reusable && !h.Fenced() {
		h.First = max(h.First, h.Delta+1) // an earlier process may have used the current unit
	}
	h.grow(max(h.First-1, delta), grant.Limit, t.cfg.Domain.Layout.Unit)
	h.position += t.cfg.Domain.Prepared // what the generator composes first says nothing of the pace of use
	t.want.Store(0)                     // what was wanted of an earlier lease
	t.given = false
	if !t.publish(h, count) {
		return errInvalidated
	}
	t.cfg.Logger.Info("worker ID assigned", "worker", h.WorkerID, "datacenter", t.cfg.Domain.DatacenterID,
		"guarantee", h.Guarantee.String())
	if t.cfg.Trace.Assigned != nil {
		Call(t.cfg.Logger, "Trace.LeaseAssigned", func() { t.cfg.Trace.Assigned(h.Grant) })
	}
	t.news.Ring()
	return nil
}

// ask gets a lease and its grant from the user's assigner, and then the delta from the user's clock. A panic
// in any of them is an error.
func (t *Tenure) ask(ctx context.Context) (lease assigner.Lease, grant assigner.Grant, delta int64, err error) {
	err = guarded("Assign", func() (err error) {
		lease, err = t.cfg.Assigner.Assign(ctx, t.cfg.Domain)
		if err != nil {
			return err
		}
		if lease == nil {
			return fmt.Errorf("%w: the assigner returned neither a lease nor an error", assigner.ErrWorkerUnknown)
		}
		grant, delta = lease.Grant(), t.cfg.Domain.Now()
		return nil
	})
	return lease, grant, delta, err
}

// admit checks a grant and enters it into the registry of the process.
func (t *Tenure) admit(g assigner.Grant) (*assigner.Hold, assigner.Grant, error) {
	if err := t.cfg.Domain.CheckWorkerID(g.WorkerID, fmt.Sprintf("%T", t.cfg.Assigner)); err != nil {
		return nil, g, err
	}
	if refused := t.cfg.Domain.ReuseError; refused != nil && g.Reusable && !g.Fenced() {
		return nil, g, fmt.Errorf("worker %d (%v): %w", g.WorkerID, g.Guarantee, refused)
	}
	return assigner.Register(t.cfg.Domain, g)
}
