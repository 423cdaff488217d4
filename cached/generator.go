package cached

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/ringbuffer"
)

// A Generator issues IDs. All methods may be called by any number of goroutines at once. Make one
// per process with [New], share it, and Close it at the end.
type Generator struct {
	ring  *ringbuffer.Ring
	lanes []cpuLane // of CPUs; nil: a single stream

	// cut is the last ID that has been retired, as far as lanes are concerned. It only grows, under
	// running.
	cut atomic.Uint64

	cfg       Config // resolved
	alloc     *bitsalloc.Allocator
	keeper    *keeper.Keeper
	threshold int   // blocks left in the ring that wake the padding goroutine
	maxAhead  int64 // in units; 0: unbounded
	maxStale  int64 // in units; negative: unbounded
	warnFrom  int64 // delta from which on the end of the layout is announced

	handles handles // lanes of goroutines

	lastSecond atomic.Int64 // delta of the newest block; only moves forward, only under running

	wake   chan struct{} // capacity 1: the ring wants padding
	padder sync.WaitGroup
	bell   keeper.Bell // rings after blocks were put

	closed   atomic.Bool
	done     chan struct{} // closed when Close begins
	gone     chan struct{} // closed when it has ended
	closeErr error         // readable then

	// running is held while blocks are put or retired: one padding pass at a time. A second pass
	// waits instead of being skipped, since a skipped pass would eat its wake-up. No taker holds it
	// while there is an ID; no store call, Trace func or log record runs under it.
	running    sync.Mutex
	generation uint64 // of the lease that lastSecond has been raised for
	newest     int64  // the last ID put
	goAt       int64  // sequence number that takers go on with; 0: that of the oldest block
	shown      tally  // by Stats

	refused atomic.Pointer[error] // what stopped the padding goroutine; nil when it filled the ring

	warned                                          atomic.Bool
	passes, inlinePads, rejectedTakes, rejectedPuts atomic.Int64
}

// New is [NewContext] with a context that does not end. It returns errors that pass, too.
func New(cfg Config) (*Generator, error) { return NewContext(context.Background(), cfg) }

// NewContext makes a Generator: it checks cfg, takes a worker ID within ctx, and fills the ring
// before it returns. ctx is not used afterwards. Mistakes in cfg are reported all at once, as
// [ErrInvalidConfig], [bitsalloc.ErrInvalidLayout] or [ErrTimeExhausted]; other errors come from
// the assigner, with [assigner.ErrUnfencedReuse] and [assigner.ErrWorkerInUse] among them.
//
// Some errors of an assigner pass: [assigner.ErrQuarantined], and [assigner.ErrWorkersExhausted]
// where worker IDs come back. They have a method RetryAfter() time.Duration. When ctx can end,
// NewContext asks the assigner again after that time, and returns both errors when ctx ends first.
// Otherwise it returns the error at once; a later call with the same Assigner goes on with a
// quarantine.
func NewContext(ctx context.Context, cfg Config) (*Generator, error) {
	cfg, alloc, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	g := &Generator{
		cfg:      cfg,
		alloc:    alloc,
		maxAhead: int64(cfg.MaxAhead / alloc.Layout().Unit),
		maxStale: staleUnits(cfg.MaxStaleness, alloc.Layout().Unit),
		warnFrom: alloc.Delta(alloc.Expires().AddDate(-1, 0, 0)),
		wake:     make(chan struct{}, 1),
		done:     make(chan struct{}),
		gone:     make(chan struct{}),
		lanes:    newLanes(cfg.Lanes),
	}
	if g.ring, err = ringbuffer.New(1<<cfg.BoostPower, g.handover); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	g.threshold = max(g.ring.Slots()*cfg.PaddingFactor/100, 1)
	if g.keeper, err = keeper.Start(ctx, g.keeperConfig()); err != nil {
		return nil, fmt.Errorf("cached: no worker ID: %w", err)
	}
	if h := g.keeper.Latest(); max(h.First, h.Delta+1) > alloc.MaxDelta() {
		return nil, errors.Join(keeper.Exhausted(ErrTimeExhausted, alloc), g.keeper.Close())
	}
	g.fill()
	g.padder.Go(g.padLoop)
	return g, nil
}

func (g *Generator) keeperConfig() keeper.Config {
	settings := g.cfg.settings()
	c := settings.Config(g.alloc, g.cfg.AllowReuse || g.cfg.MaxAhead > 0, "set MaxAhead, which is safe when a restart takes "+
		"longer than MaxAhead and the clock does not go back, neither then nor while the generator runs")
	c.Domain.Prepared = int64(1) << g.cfg.BoostPower
	c.Used = g.used
	c.Position = g.position
	c.Ended = g.ended
	c.Trace = keeper.Trace{
		Assigned:    g.cfg.Trace.LeaseAssigned,
		Lost:        g.cfg.Trace.LeaseLost,
		RenewFailed: g.cfg.Trace.RenewFailed,
		Kept:        g.cfg.Trace.LeaseKept,
	}
	return c
}

// Parse takes an ID of this layout and epoch apart; see [bitsalloc.Allocator.Parse].
func (g *Generator) Parse(id int64) (bitsalloc.Fields, error) { return g.alloc.Parse(id) }

// WorkerID returns the worker ID of the IDs composed now. It changes when a worker ID is lost.
func (g *Generator) WorkerID() int64 { return g.keeper.Latest().WorkerID }

// Invalidate drops the prepared IDs and has the assigner give a worker ID again, in the background.
// Call it after this process has been resumed from a snapshot: its copy may still be issuing the
// same IDs. Until the worker ID is there, Next returns ErrLeaseExhausted. The old one is not given
// back. It is of no use with a worker ID that is derived or sticky, since that would be the same
// again.
func (g *Generator) Invalidate() { g.keeper.Invalidate() }

// Close ends the generator: once it has returned, callers get ErrClosed, waiting ones too, the
// prepared IDs are dropped, the goroutines have ended, and the worker ID is released, within
// AssignTimeout if the assigner heeds its context. Closing again returns the same error, that of
// the release. It must not be called by a func of Trace.
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
	g.bell.Ring()
	g.padder.Wait()
	if err := g.keeper.Close(); err != nil { // drops what is in the ring
		return fmt.Errorf("cached: worker ID not released: %w", err)
	}
	return nil
}

// position is where ID time has come to, or the clock where that is ahead: an idle generator goes
// there next.
func (g *Generator) position(h *keeper.Lease) int64 {
	return max(g.used(), g.alloc.Delta(h.Clock.Now()))
}

// used waits for a padding pass that is under way.
func (g *Generator) used() int64 {
	g.running.Lock()
	defer g.running.Unlock()
	return g.lastSecond.Load()
}

// ended waits for a padding pass that may still use the worker ID, since later ones see that it is
// withdrawn, and drops the prepared IDs.
func (g *Generator) ended() {
	g.running.Lock()
	defer g.running.Unlock()
	g.retireLanes(uint64(g.newest))
	g.retire(math.MaxInt64)
}
