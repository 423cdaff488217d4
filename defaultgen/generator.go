package defaultgen

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/keeper"
)

// A Generator issues IDs. All methods may be called by any number of goroutines at once. Make one
// per process with [New], share it, and Close it at the end.
//
// For one ID in a request, call NextContext: it waits for the next unit when the IDs of this one
// are used up, and while the store of worker IDs is out of reach. Next returns an error instead;
// use it where a caller must not wait, or retries by itself. For the rows of a batch, call Fill;
// for a range of consecutive IDs, Reserve. uidring.ID(id) has the text forms of an ID.
type Generator struct {
	cfg    Config
	alloc  *bitsalloc.Allocator
	clock  clock
	keeper *keeper.Keeper
	closer *generator.Closer
	path   generator.SlowPath // for callers that find the current unit over, or without IDs

	unit atomic.Pointer[unit] // the current unit; its delta only grows
	mu   sync.Mutex           // held while the current unit changes or ends
}

// New is [NewContext] within Config.StartTimeout.
func New(cfg Config) (*Generator, error) {
	ctx, cancel := keeper.StartContext(cfg.StartTimeout, cfg.Layout)
	defer cancel()
	return NewContext(ctx, cfg)
}

// NewContext makes a Generator: it checks cfg and takes a worker ID within ctx. If an earlier
// process may have used the worker ID in the current unit of time, it waits for the next unit. It
// does not use ctx afterwards. It reports all mistakes in cfg together, as [ErrInvalidConfig],
// [bitsalloc.ErrInvalidLayout] or [ErrTimeExhausted]. Other errors come from the assigner, such as
// [assigner.ErrUnfencedReuse] and [assigner.ErrWorkerInUse].
//
// Some errors of an assigner pass: [assigner.ErrQuarantined], [assigner.ErrWorkerAheadOfClock], and
// [assigner.ErrWorkersExhausted] when worker IDs are reused. NewContext repeats after the time of
// [uidring.RetryAfter], and while the store does not answer. When ctx ends before that, it returns
// both errors, at once if it has a deadline that is too early.
func NewContext(ctx context.Context, cfg Config) (*Generator, error) {
	k, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	g := &Generator{cfg: cfg, alloc: k.Alloc, keeper: k, closer: generator.NewCloser()}
	g.path = generator.SlowPath{Name: "defaultgen", Take: g.take, Changed: k.Changed, Rejected: k.Rejected, Closer: g.closer}
	//mutate:number,swap any value below 0 will do; no other goroutine has the generator yet
	g.unit.Store(&unit{last: -1})                                 // without IDs: no ID is 0
	g.clock.start(k.Now, cfg.Now == nil, cfg.OnClockBack == GoOn) // before Start, since hooks read the clock
	if err := k.Start(ctx, keeper.Hooks{Deltas: g.deltas, Oldest: g.oldest, Ended: g.endUnit}); err != nil {
		return nil, err
	}
	g.now(k.Latest()) //mutate:swap the grant is the same
	grant := k.Latest()
	if grant.First > g.alloc.MaxDelta() {
		_ = g.Close() // which logs its error
		return nil, k.NoUnit()
	}
	// An earlier process may have used the worker ID in the current unit.
	if err := k.AwaitFirst(ctx, min(g.alloc.Time(grant.First).Sub(k.Now()), g.alloc.Layout().Unit)); err != nil {
		_ = g.Close()
		return nil, err
	}
	return g, nil
}

// Parse returns the fields of an ID of this layout and epoch; see [bitsalloc.Allocator.Parse].
func (g *Generator) Parse(id int64) (bitsalloc.Fields, error) { return g.alloc.Parse(id) }

// WorkerID returns the worker ID of the IDs issued now. It changes when the generator loses its
// worker ID and takes another.
func (g *Generator) WorkerID() int64 { return g.keeper.Latest().WorkerID }

// Invalidate drops the current unit and takes another worker ID from the assigner, in the
// background. Call it after this process has been resumed from a snapshot: its copy may still be
// issuing the same IDs. Until the generator has the worker ID, Next returns ErrLeaseExhausted.
// Invalidate does not release the old worker ID. It does not help with derived and sticky worker
// IDs: the assigner would return the same number.
func (g *Generator) Invalidate() { g.keeper.Invalidate() }

// Close ends the generator and releases the worker ID, within AssignTimeout if the assigner obeys
// its context. Until it has ended a call to the store, callers may get IDs; afterwards, and in
// calls that wait, ErrClosed. It returns the error of the release, also when called again.
func (g *Generator) Close() error { return g.closer.Close(g.keeper.Close) }

// now reads the clock. Under GoOn the clock goes on from the highest reading that the grant covers.
// A reading that is wrong by years is beyond the grant: it leads to no ID and is not kept.
func (g *Generator) now(grant *keeper.State) reading {
	r := g.clock.now()
	if g.clock.goOn && g.alloc.Delta(r.time) <= grant.Last { //mutate:operand only GoOn reads the stored reading
		g.clock.keep(r.ahead)
	}
	return r
}
