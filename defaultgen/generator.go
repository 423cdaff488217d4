package defaultgen

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/tenure"
)

// A Generator issues IDs. All methods may be called by any number of goroutines at once. Make one per
// process with [New], share it, and Close it at the end.
type Generator struct {
	cfg    Config // resolved
	alloc  *bitsalloc.Allocator
	clock  *clock
	tenure *tenure.Tenure

	// last is the delta and, in the low SequenceBits, the sequence number of the last ID. It only grows;
	// whoever swaps it owns the IDs in between.
	last atomic.Int64

	warnFrom int64 // delta from which on the end of the layout is announced
	warned   atomic.Bool

	closed   atomic.Bool
	done     chan struct{} // closed when Close begins
	gone     chan struct{} // closed when it has ended
	closeErr error         // readable then
	rejected atomic.Int64
}

// New is [NewContext] with a context that does not end. It waits for no quarantine.
func New(cfg Config) (*Generator, error) { return NewContext(context.Background(), cfg) }

// NewContext makes a Generator: it checks cfg, takes a worker ID within ctx, and, when that may not be used in the
// current unit of time, waits for the next: an earlier process may have used it there. ctx is not used afterwards. Mistakes in
// cfg are reported all at once, as [ErrInvalidConfig], [bitsalloc.ErrInvalidLayout] or [ErrTimeExhausted]; other
// errors are those of the assigner, with [assigner.ErrUnfencedReuse] and [assigner.ErrWorkerInUse] among them. A worker ID in
// quarantine is waited for when ctx can end; else the error is [assigner.ErrQuarantined], with the time that remains, and a call
// after it, with the same Assigner, goes on.
func NewContext(ctx context.Context, cfg Config) (*Generator, error) {
	cfg, alloc, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	g := &Generator{
		cfg:   cfg,
		alloc: alloc,
		clock: startClock(cfg.Now, cfg.OnClockBack == GoOn),
		done:  make(chan struct{}),
		gone:  make(chan struct{}),

		warnFrom: alloc.Delta(alloc.Expires().AddDate(-1, 0, 0)),
	}
	g.last.Store(alloc.MaxSequence()) // unit 0 counts as used: no ID is 0
	settings := cfg.settings()
	c := settings.Config(alloc, cfg.AllowReuse || cfg.OnClockBack != GoOn, "choose OnClockBack Fail or Wait, which is "+
		"safe when the clock does not go back across a restart")
	c.Used = func() int64 { return g.delta(g.last.Load()) }
	c.Position = func() int64 { return max(g.delta(g.last.Load()), alloc.Delta(cfg.Now())) }
	c.Ended = g.ended
	c.Trace = tenure.Trace{
		Assigned:    cfg.Trace.LeaseAssigned,
		Lost:        cfg.Trace.LeaseLost,
		RenewFailed: cfg.Trace.RenewFailed,
		Kept:        cfg.Trace.LeaseKept,
	}
	if g.tenure, err = tenure.Start(ctx, c); err != nil {
		return nil, fmt.Errorf("defaultgen: no worker ID: %w", err)
	}
	if err := g.awaitFirstUnit(ctx); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	g.announceEnd(alloc.Delta(cfg.Now()))
	return g, nil
}

// awaitFirstUnit waits out the unit in which an earlier process may have used the worker ID.
func (g *Generator) awaitFirstUnit(ctx context.Context) error {
	h := g.tenure.Latest()
	if h.First > g.alloc.MaxDelta() {
		return tenure.Exhausted(ErrTimeExhausted, g.alloc)
	}
	if h.First <= h.Delta {
		return nil
	}
	wait := min(g.alloc.Time(h.First).Sub(g.cfg.Now()), g.alloc.Layout().Unit)
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("defaultgen: waiting for the first unit: %w", ctx.Err())
	}
}

// announceEnd warns once that less than a year is left, when delta lies in that year.
func (g *Generator) announceEnd(delta int64) {
	if delta < g.warnFrom || g.warned.Load() || g.warned.Swap(true) {
		return
	}
	expires := g.alloc.Expires()
	g.cfg.Logger.Warn("the delta field is used up within a year", "expires", expires, "layout", g.alloc.Layout().String())
	if f := g.cfg.Trace.Expiring; f != nil {
		tenure.Call(g.cfg.Logger, "Trace.Expiring", func() { f(expires) })
	}
}

// Parse takes an ID of this layout and epoch apart; see [bitsalloc.Allocator.Parse].
func (g *Generator) Parse(id int64) (bitsalloc.Fields, error) { return g.alloc.Parse(id) }

// WorkerID returns the worker ID of the IDs composed now. It changes when a worker ID is lost.
func (g *Generator) WorkerID() int64 { return g.tenure.Latest().WorkerID }

// Close ends the generator: once it has returned, callers get ErrClosed, waiting ones too, and the worker ID is
// released, within AssignTimeout if the assigner heeds its context. Closing again returns the same error, that of the release. It must not be
// called by a func of Trace.
func (g *Generator) Close() error {
	if !g.closed.Swap(true) {
		g.closeErr = g.shutDown()
		close(g.gone)
	}
	<-g.gone
	return g.closeErr
}

func (g *Generator) shutDown() error {
	close(g.done)
	if err := g.tenure.Close(); err != nil {
		return fmt.Errorf("defaultgen: worker ID not released: %w", err)
	}
	return nil
}

// ended marks the unit of the last ID as used up: the next worker ID, which may be a smaller number, starts
// in a later unit, so that IDs keep increasing.
func (g *Generator) ended(bool) { g.last.Or(g.alloc.MaxSequence()) }

func (g *Generator) delta(last int64) int64 { return last >> g.alloc.Layout().SequenceBits }
