package segment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/storecall"
)

// A Generator issues the IDs of one counter. All methods may be called by any number of goroutines
// at once. Make one per process and counter with [New], share it, and Close it at the end.
//
// For one ID, call NextContext: it waits until ctx ends for a store that is out of reach. Next
// waits while a call of the store is under way, or not at all under Reject. For the rows of a
// batch, call Fill; for consecutive numbers, Reserve. A goroutine that takes many IDs one by one
// takes them from a Lane. For numbers with a prefix and a date, use [Numbers].
type Generator struct {
	parts  []*part
	only   *part        // the only part, whose ring Next tries first; nil: several
	turn   atomic.Int64 // the part, modulo their number, whose range takers use next
	path   generator.SlowPath
	filled generator.Notifier // wakes waiting callers after each call of a source

	cfg    Config     // resolved
	level  slog.Level // of the record of a new counter
	ctx    context.Context
	cancel context.CancelFunc // ends ctx
	loops  sync.WaitGroup     // of the goroutines that fetch
	closer *generator.Closer

	// generation counts how often the IDs in hand were dropped. It changes after the drop: a fetch
	// and a block of a lane that begin under the present generation hold no dropped ID.
	generation atomic.Int64

	// mu is held while IDs are put, dropped and counted, and guards claims. No taker holds it.
	mu     sync.Mutex
	claims []claim // of the parts, for the check that their numbers are disjoint
	// clash is the error for two parts that issue the same numbers. It ends all parts: another
	// process may use either of them.
	clash atomic.Pointer[error]

	begun    atomic.Bool // first has succeeded
	rejected atomic.Int64
}

// A claim is the set of numbers that a part issues; delta is 0 before the first range.
type claim struct{ delta, offset int64 }

// New is [NewContext] within Config.StartTimeout.
func New(cfg Config) (*Generator, error) {
	ctx, cancel := generator.StartContext(cmp.Or(cfg.StartTimeout, 30*time.Second))
	defer cancel()
	return NewContext(ctx, cfg)
}

// NewContext makes a Generator: it checks cfg, and waits until each source has returned its first
// range or failed. If all fail, and one of them only because its store does not answer now, it asks
// them again until ctx ends, and then returns ctx's error and theirs. It returns other errors of
// the sources at once, and [ErrInvalidRange] if two sources issue the same numbers or have
// different Increments. It reports all mistakes in cfg together, as [ErrInvalidConfig]. It does not
// use ctx afterwards.
func NewContext(ctx context.Context, cfg Config) (*Generator, error) {
	cfg, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	g := start(cfg, slog.LevelWarn)
	if err := g.first(ctx); err != nil {
		go g.Close() // waits for a source that does not return when its context has ended
		return nil, err
	}
	return g, nil
}

// first waits for the first ranges, of all sources that answer, since two of them that issue the
// same numbers must be noticed before an ID is issued. It waits until ctx ends while an error of
// the sources passes.
func (g *Generator) first(ctx context.Context) error {
	for {
		//mutate:swap no test stops a goroutine between the two
		changed := g.filled.Wait() // before the checks, to miss no answer of a source
		//mutate:swap another round finds the same
		err := g.wait(ctx, true)
		passes, failed := g.refusals()
		switch clash := g.clash.Load(); {
		case err == ErrClosed:
			return err
		case clash != nil:
			failed = *clash
		case err == nil:
			g.begun.Store(true)
			return nil
		case passes && ctx.Err() == nil:
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		case passes:
			failed = cmp.Or(failed, errors.New("the store has not answered yet"))
			failed = fmt.Errorf("%w: %w", generator.Late(ctx), generator.Passing{Err: failed, After: time.Second})
		}
		return fmt.Errorf("segment: counter %q: no first range: %w", g.cfg.Name, failed)
	}
}

// refusals returns the errors of the last calls of the sources, and whether one of them passes. A
// source that has not returned may still answer.
func (g *Generator) refusals() (passes bool, err error) {
	var refusals []error
	for _, p := range g.parts {
		failed := p.failed.Load()
		if failed == nil {
			passes = true
			continue
		}
		_, later := uidring.RetryAfter(*failed)
		passes = passes || later || storecall.Passes(*failed)
		refusals = append(refusals, generator.Detach(*failed))
	}
	return passes, errors.Join(refusals...)
}

// start makes a Generator of a resolved Config. It may have no range yet. If the counter is new, it
// logs that at the level.
func start(cfg Config, level slog.Level) *Generator {
	g := &Generator{cfg: cfg, level: level, closer: generator.NewCloser()}
	//mutate:swap no other goroutine has the generator yet
	g.path = generator.SlowPath{Name: "segment", Take: g.take, Changed: g.filled.Wait, Rejected: g.reject, Closer: g.closer}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	for i, source := range append([]Source{cfg.Source}, cfg.Others...) {
		g.parts = append(g.parts, g.newPart(i, source))
	}
	if len(g.parts) == 1 { //mutate:false only is faster
		g.only = g.parts[0] //mutate:remove calls would be slower
	}
	g.claims = make([]claim, len(g.parts))
	for _, p := range g.parts {
		g.loops.Go(p.run)
	}
	return g
}

// claim records the numbers of a part, or returns an error, which ends all parts, if another part
// issues some of them. The caller holds mu.
func (g *Generator) claim(index int, delta, offset int64) error {
	err := g.overlap(index, delta, offset)
	if err != nil {
		g.clash.Store(&err)
		return err
	}
	g.claims[index] = claim{delta, offset}
	return nil
}

func (g *Generator) overlap(index int, delta, offset int64) error {
	if delta < int64(len(g.parts)) {
		return fmt.Errorf("%w: Increment %d with %d sources, allowed: at least the number of sources", ErrInvalidRange, delta, len(g.parts))
	}
	for i, c := range g.claims {
		switch {
		case i == index || c.delta == 0:
		case c.delta != delta:
			return fmt.Errorf("%w: sources %d and %d have Increment %d and %d, allowed: the same Increment in all databases of a counter",
				ErrInvalidRange, i, index, c.delta, delta)
		case c.offset == offset:
			return fmt.Errorf("%w: sources %d and %d issue the same numbers in steps of %d; give each database another remainder",
				ErrInvalidRange, i, index, delta)
		}
	}
	return nil
}

// Invalidate drops the ranges in hand, the blocks of lanes, and the range that is being fetched,
// and fetches others in the background. Call it after this process has been resumed from a
// snapshot: its copy may still be issuing the same IDs. A call that begins after Invalidate has
// returned gets no ID of a range that was fetched before. Until a new range is there, callers wait
// or get ErrEmpty, as Config.OnEmpty says. No process issues the dropped IDs unless a copy does.
func (g *Generator) Invalidate() {
	g.drop()
	for _, p := range g.parts {
		generator.Signal(p.wake)
	}
}

// Close ends the generator: it drops the IDs that are left, also in lanes, which are never issued,
// and waits for the generator's goroutines. After it, and in calls that wait, callers get
// ErrClosed. Close returns nil, and does nothing when called again. A func of Trace must not call
// it.
func (g *Generator) Close() error {
	return g.closer.Close(func() error {
		g.cancel() //mutate:swap the Closer says that Close has begun
		g.filled.Wake()
		g.loops.Wait()
		g.drop()
		return nil
	})
}

// drop drops the IDs in the rings and lanes, and the range that is being fetched.
func (g *Generator) drop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.parts {
		p.ring.Retire(math.MaxInt64)
	}
	g.generation.Add(1) //mutate:number any other generation will do
}
