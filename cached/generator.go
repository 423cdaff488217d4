package cached

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/ringbuffer"
)

// A Generator issues IDs. All methods may be called by any number of goroutines at once. Make one
// per process with [New], share it, and Close it at the end.
//
// For one ID in a request, call NextContext: it waits while the store of worker IDs is out of
// reach. Next returns an error instead; use it where a caller must not wait, or retries by itself.
// For the rows of a batch, call Fill; for a range of consecutive IDs, such as the lines of an
// order, Reserve. A goroutine that takes millions of IDs one by one takes them from a Lane.
// uidring.ID(id) has the text forms of an ID.
type Generator struct {
	ring *ringbuffer.Ring

	// cut is the last ID that lanes must not issue any more. It only grows, and running guards its
	// stores. The words around it do not change: lanes load it for each ID.
	cut atomic.Int64

	cfg    Config // resolved, MaxAhead in whole units
	alloc  *bitsalloc.Allocator
	keeper *keeper.Keeper
	closer *generator.Closer
	wake   chan struct{} // capacity 1: wakes the padding goroutine
	padder sync.WaitGroup
	path   generator.SlowPath // for callers that find the ring empty
	filled generator.Notifier // wakes waiting callers after blocks have been put, or after a permanent error

	// running is held while blocks are put or retired: one padding pass at a time. A second pass
	// waits for it, since skipping the pass would lose its wake-up. No taker holds it while the
	// ring has an ID, and no store call, Trace func or log record runs under it.
	running    sync.Mutex
	lastSecond int64 // delta of the newest block; only grows
	newest     int64 // the last ID put
	paused     bool  // the next block to be used begins at a scattered sequence number
	begin      int64 // the first ID of the last block that began so, unless takers had IDs of it before

	passes, inlinePads, rejectedPuts atomic.Int64
}

// New is [NewContext] within Config.StartTimeout.
func New(cfg Config) (*Generator, error) {
	ctx, cancel := keeper.StartContext(cfg.StartTimeout, cfg.Layout)
	defer cancel()
	return NewContext(ctx, cfg)
}

// NewContext makes a Generator: it checks cfg, takes a worker ID within ctx, and fills the ring, as
// far as the grant and MaxAhead reach, before it returns. With an unfenced worker ID that comes
// back after a restart it first waits for Config.MaxAhead, unless AllowReuse is set: an earlier
// process may have used the units of that time. It does not use ctx afterwards. It reports all
// mistakes in cfg together, as [ErrInvalidConfig], [bitsalloc.ErrInvalidLayout] or
// [ErrTimeExhausted]. Other errors come from the assigner, such as [assigner.ErrUnfencedReuse] and
// [assigner.ErrWorkerInUse].
//
// Some errors of an assigner pass: [assigner.ErrQuarantined], [assigner.ErrWorkerAheadOfClock], and
// [assigner.ErrWorkersExhausted] when worker IDs are reused. NewContext repeats after the time of
// [uidring.RetryAfter], and while the store does not answer. When ctx ends before that, it returns
// both errors, at once if it has a deadline that is too early.
func NewContext(ctx context.Context, cfg Config) (*Generator, error) {
	cfg, k, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	//mutate:number an extra wake costs a pass
	g := &Generator{cfg: cfg, alloc: k.Alloc, keeper: k, closer: generator.NewCloser(), wake: make(chan struct{}, 1), paused: true}
	//mutate:swap no other goroutine has the generator yet
	g.path = generator.SlowPath{Name: "cached", Take: g.take, Changed: g.filled.Wait, Rejected: k.Rejected, Closer: g.closer}
	g.ring, _ = ringbuffer.New(1<<cfg.BoostPower, g.handover) // 2 to 256 slots: no error
	if err := k.Start(ctx, keeper.Hooks{Deltas: g.deltas, Oldest: g.oldest, Ended: g.ended}); err != nil {
		return nil, err
	}
	grant := k.Latest()
	if max(grant.First, grant.Delta+1) > g.alloc.MaxDelta() {
		_ = k.Close() // which logs its error
		return nil, k.NoUnit()
	}
	if grant.Reused() && !cfg.AllowReuse {
		if err := k.AwaitFirst(ctx, cfg.MaxAhead); err != nil {
			_ = k.Close()
			return nil, err
		}
	}
	_ = g.pad(false) //mutate:swap both fill the ring, which is full when New returns
	g.padder.Go(g.padLoop)
	return g, nil
}

// Parse returns the fields of an ID of this layout and epoch; see [bitsalloc.Allocator.Parse].
func (g *Generator) Parse(id int64) (bitsalloc.Fields, error) { return g.alloc.Parse(id) }

// WorkerID returns the worker ID of the blocks that the generator composes now. It changes when the
// generator loses its worker ID and takes another.
func (g *Generator) WorkerID() int64 { return g.keeper.Latest().WorkerID }

// Invalidate drops the prepared IDs and takes another worker ID from the assigner, in the
// background. Call it after this process has been resumed from a snapshot: its copy may still be
// issuing the same IDs. Until the generator has the worker ID, Next returns ErrLeaseExhausted.
// Invalidate does not release the old worker ID. It does not help with derived and sticky worker
// IDs: the assigner would return the same number. With an unfenced worker ID that comes back after
// a restart, the generator goes on MaxAhead ahead of the clock, so callers may get ErrTooFarAhead
// for up to a unit.
func (g *Generator) Invalidate() { g.keeper.Invalidate() }

// Close ends the generator and releases the worker ID, within AssignTimeout if the assigner obeys
// its context. It first ends a call to the store, a renewal after a quarter of that time; callers
// may get IDs until then. Then it drops the prepared IDs, and callers get ErrClosed, waiting calls
// at once. Close returns the error of the release, also when called again. A func of Trace must not
// call it.
func (g *Generator) Close() error {
	return g.closer.Close(func() error {
		g.padder.Wait()
		return g.keeper.Close() // calls ended, which empties the ring
	})
}

// deltas returns, after waiting for a padding pass in progress, the delta of the newest block, and
// the delta of which IDs are issued now, or of the clock if that is ahead: an idle generator goes
// on from the clock.
func (g *Generator) deltas() (used, position int64) {
	g.running.Lock()
	defer g.running.Unlock()
	return g.lastSecond, max(g.begun(), g.alloc.Delta(g.now()))
}

// begun returns the delta of the oldest block in the ring, or the next delta if the ring is empty.
// If deltas were skipped in between it is too high, but not above the clock or the first delta of
// the grant. The caller holds running.
func (g *Generator) begun() int64 {
	return g.lastSecond + 1 - int64(g.ring.Slots()-g.ring.Free())
}

// oldest returns the delta that begins after cut: neither the ring nor a lane has an older ID that
// it may issue.
func (g *Generator) oldest() int64 {
	//mutate:remove the keeper waits for a pass in progress, too
	g.running.Lock() // a padding pass raises cut before it retires the IDs of the ring
	defer g.running.Unlock()
	return g.deltaOf(g.cut.Load()) + 1
}

// ended drops the prepared IDs. It first waits for a padding pass that may still use the worker ID;
// later passes see that the lease is withdrawn. It returns the highest delta of which takers have
// an ID, or a higher one. Takers go on meanwhile, so the drop of each block tells whether they have
// IDs of it, and a block that is missing between two others, or at the end, is theirs.
func (g *Generator) ended() (issued int64) {
	g.running.Lock()
	defer g.running.Unlock()
	//mutate:argument no lane has a block above newest
	g.cut.Store(max(g.cut.Load(), g.newest)) // under running: a later pass could put IDs above it
	g.paused = true
	dropped := int64(0) // the delta of the last block that was dropped
	for next := g.ring.Peek(); next != 0; next = g.ring.Peek() {
		last := next | g.alloc.MaxSequence()
		delta, all := g.deltaOf(last), last+1-max(last&^g.alloc.MaxSequence(), g.begin)
		switch n := int64(g.ring.Retire(last)); {
		case n < all:
			issued = delta
		case delta > dropped+1:
			issued = delta - 1
		}
		dropped = delta
	}
	if newest := g.deltaOf(g.newest); newest > dropped {
		issued = newest
	}
	return issued
}

// deltaOf returns the delta of an ID.
func (g *Generator) deltaOf(id int64) int64 {
	fields, _ := g.alloc.Parse(id)
	return fields.Delta
}
