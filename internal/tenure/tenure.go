// Package tenure holds a worker ID for a generator: it takes a lease, keeps it alive, and takes another
// when it is lost. It runs beside the generator, so that a slow store never delays an ID.
package tenure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/uidring/uidring/assigner"
)

// heartbeat is the time between two renewals. With the default AssignTimeout a renewal has ended one
// minute after the one before, the least that leases are promised.
const heartbeat = 45 * time.Second

// A Config says for whom a worker ID is held. Used and Ended are called by the tenure's goroutine, by
// Invalidate and by Close; they must not block.
type Config struct {
	Assigner  assigner.Assigner
	Domain    assigner.Domain
	Timeout   time.Duration // bounds each call to the store
	ReuseSafe bool          // accept an unfenced worker ID that comes back after a restart
	Logger    *slog.Logger
	Trace     Trace

	// Used returns the highest delta put to use so far.
	Used func() int64
	// Ended is called when Current no longer shows a holding. When it returns, nothing more is composed under
	// that holding, and, unless valid, nothing that was composed is issued.
	Ended func(valid bool)
}

// Trace holds the user's funcs, nil or not.
type Trace struct {
	Assigned    func(assigner.Grant)
	Lost        func(workerID int64, err error)
	RenewFailed func(err error)
}

// A Holding is what the generator may use at present. It is immutable.
type Holding struct {
	assigner.Grant
	Term  uint64 // counts the leases taken; a renewal keeps it
	Delta int64  // the generator's clock when the lease was taken
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

	renewals, failures atomic.Int64
}

// Start takes the first lease within ctx and holds it until Close.
func Start(ctx context.Context, cfg Config) (*Tenure, error) {
	t := &Tenure{cfg: cfg, poke: make(chan struct{}, 1)}
	if err := t.assign(ctx); err != nil {
		return nil, err
	}
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
	t.current.Store(nil)
	t.cfg.Ended(false)
	t.wake()
}

// Close stops the background work, waits for it, ends the holding, and releases the worker ID within
// the timeout. It must be called once.
func (t *Tenure) Close() error {
	t.cancel()
	_ = t.group.Wait() // run has no error to return
	h := t.current.Swap(nil)
	t.cfg.Ended(false)
	used := t.cfg.Used()
	t.hold.End(used)
	if h == nil {
		return nil // lost: there is nothing to give back
	}
	ctx, cancel := context.WithTimeout(context.Background(), t.cfg.Timeout)
	defer cancel()
	return guarded("Release", func() error { return t.lease.Release(ctx, used) })
}

func (t *Tenure) wake() {
	select {
	case t.poke <- struct{}{}:
	default:
	}
}

func (t *Tenure) run(ctx context.Context) {
	timer := time.NewTimer(heartbeat)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.poke:
		case <-timer.C:
		}
		timer.Reset(t.step(ctx))
	}
}

// step does what is due and returns how long to wait for the next step.
func (t *Tenure) step(ctx context.Context) time.Duration {
	h := t.current.Load()
	var err error
	if h == nil {
		t.hold.End(t.cfg.Used())
		err = t.assign(ctx)
	} else {
		err = t.renew(ctx, h)
	}
	switch {
	case ctx.Err() != nil:
		return heartbeat // Close is waiting
	case err == nil:
		if t.delay > 0 {
			t.cfg.Logger.Info("worker ID: the store answers again", "worker", t.latest.Load().WorkerID)
		}
		t.delay = 0
		return heartbeat
	case errors.Is(err, assigner.ErrWorkerRowLost) && h != nil:
		return 0
	}
	t.failures.Add(1)
	if t.delay == 0 { // one record an outage
		t.cfg.Logger.Warn("worker ID: call to the store failed", "worker", t.latest.Load().WorkerID, "error", err)
	}
	if t.cfg.Trace.RenewFailed != nil {
		Call(t.cfg.Logger, "Trace.RenewFailed", func() { t.cfg.Trace.RenewFailed(err) })
	}
	t.delay = nextDelay(t.delay)
	return t.delay
}

// renew renews the lease behind h. When the row is lost, h is withdrawn.
func (t *Tenure) renew(ctx context.Context, h *Holding) error {
	ctx, cancel := context.WithTimeout(ctx, t.cfg.Timeout)
	defer cancel()
	used := t.cfg.Used()
	err := guarded("Renew", func() error { return t.lease.Renew(ctx, used, max(used, t.want.Load())) })
	if errors.Is(err, assigner.ErrWorkerRowLost) {
		t.lose(h, err)
		return err
	}
	if err != nil {
		return err
	}
	t.renewals.Add(1)
	renewed := &Holding{Grant: t.lease.Grant(), Term: h.Term, Delta: h.Delta}
	renewed.First = h.First
	if renewed.Grant != h.Grant && t.current.CompareAndSwap(h, renewed) { // fails after Invalidate
		t.latest.Store(renewed)
		t.news.Ring()
	}
	return nil
}

// lose gives up h. What was composed under a fence stays valid, anything else must not be issued: the
// worker ID may have a new holder.
func (t *Tenure) lose(h *Holding, err error) {
	if !t.current.CompareAndSwap(h, nil) {
		return
	}
	t.cfg.Ended(h.Fenced())
	t.cfg.Logger.Error("worker ID lost", "worker", h.WorkerID, "error", err)
	if t.cfg.Trace.Lost != nil {
		Call(t.cfg.Logger, "Trace.LeaseLost", func() { t.cfg.Trace.Lost(h.WorkerID, err) })
	}
}

// assign takes a lease and makes its grant the current one.
func (t *Tenure) assign(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.cfg.Timeout)
	defer cancel()
	var lease assigner.Lease
	err := guarded("Assign", func() (err error) {
		lease, err = t.cfg.Assigner.Assign(ctx, t.cfg.Domain)
		return err
	})
	if err != nil {
		return err
	}
	if lease == nil {
		return fmt.Errorf("%w: the assigner returned neither a lease nor an error", assigner.ErrWorkerUnknown)
	}
	hold, grant, err := t.admit(lease.Grant())
	if err != nil {
		return errors.Join(err, guarded("Release", func() error { return lease.Release(ctx, 0) }))
	}
	t.lease, t.hold = lease, hold
	h := &Holding{Grant: grant, Term: 1, Delta: t.cfg.Domain.Now()}
	if last := t.latest.Load(); last != nil {
		h.Term = last.Term + 1
	}
	if h.Reusable && !h.Fenced() {
		h.First = max(h.First, h.Delta+1) // an earlier process may have used the current unit
	}
	t.latest.Store(h)
	t.current.Store(h)
	t.cfg.Logger.Info("worker ID assigned", "worker", h.WorkerID, "datacenter", t.cfg.Domain.DatacenterID,
		"guarantee", h.Guarantee.String())
	if t.cfg.Trace.Assigned != nil {
		Call(t.cfg.Logger, "Trace.LeaseAssigned", func() { t.cfg.Trace.Assigned(h.Grant) })
	}
	t.news.Ring()
	return nil
}

// admit checks a grant and enters it into the registry of the process.
func (t *Tenure) admit(g assigner.Grant) (*assigner.Hold, assigner.Grant, error) {
	if err := t.cfg.Domain.CheckWorkerID(g.WorkerID, fmt.Sprintf("%T", t.cfg.Assigner)); err != nil {
		return nil, g, err
	}
	if g.Reusable && !g.Fenced() && !t.cfg.ReuseSafe {
		return nil, g, fmt.Errorf("%w: worker %d (%v) comes back after a restart: set MaxAhead, which is safe when "+
			"a restart takes longer than MaxAhead and the clock does not go back, or AllowReuse to take the risk, "+
			"or take a worker ID that is fresh or fenced", assigner.ErrUnfencedReuse, g.WorkerID, g.Guarantee)
	}
	return assigner.Register(t.cfg.Domain, g)
}
