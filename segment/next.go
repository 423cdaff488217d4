package segment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/uidring/uidring/internal/generator"
)

// Next returns a new ID. While ranges last, it waits for nothing. When they are used up,
// Config.OnEmpty decides: under FetchInline the caller waits for the call of the source that is
// under way, at most FetchTimeout and 1 s, and again if other callers have taken the IDs of that
// call; under Reject it gets ErrEmpty at once. ErrEmpty passes: [Generator.NextContext] waits until
// it does, or until its context ends. ErrExhausted, ErrWentBack, ErrInvalidRange and ErrClosed are
// permanent.
func (g *Generator) Next() (int64, error) {
	if p := g.only; p != nil { //mutate:false the slow path returns the same ID
		if x, ok := p.ring.Current().Take(); ok { //mutate:argument Take of the ring is slower
			return p.id(x), nil
		}
	}
	id, _, err := g.Reserve(1)
	return id, err
}

// NextContext is [Generator.Next], but waits instead of returning ErrEmpty: through an outage of
// the store, too, so give ctx a deadline. It returns an ID, a permanent error, or, when ctx ends
// first, an error that wraps ctx's error and the reason for waiting. If the generator has an ID,
// NextContext returns it even when ctx has ended.
func (g *Generator) NextContext(ctx context.Context) (int64, error) {
	id, _, err := g.ReserveContext(ctx, 1)
	return id, err
}

// Fill fills dst with new IDs and returns their number. They increase if there is one source, but
// are not always consecutive. If it gets fewer than len(dst) it also returns one of the errors of
// Next; the IDs in dst are valid.
func (g *Generator) Fill(dst []int64) (int, error) { return generator.Fill(dst, g.Reserve) }

// FillContext is [Generator.Fill], but waits as [Generator.NextContext] does.
func (g *Generator) FillContext(ctx context.Context, dst []int64) (int, error) {
	return generator.Fill(dst, func(n int) (int64, int, error) { return g.ReserveContext(ctx, n) })
}

// Reserve takes up to n consecutive IDs, from first to first+got-1. got is less than n if a range
// ends before, and 1 if the Increment of the ranges is more than 1. For n of 1 or more, got is at
// least 1, or Reserve returns one of the errors of Next; for a smaller n it returns zeros.
func (g *Generator) Reserve(n int) (first int64, got int, err error) {
	return g.path.Reserve(n)
}

// ReserveContext is [Generator.Reserve], but waits as [Generator.NextContext] does.
func (g *Generator) ReserveContext(ctx context.Context, n int) (first int64, got int, err error) {
	return g.path.ReserveContext(ctx, n)
}

// take takes up to n consecutive IDs of the part whose turn it is, or of another part if that one
// is empty.
func (g *Generator) take(ctx context.Context, n int) (first int64, got int, err error) {
	turn := int(g.turn.Load())
	for i := range g.parts {
		p := g.parts[(turn+i)%len(g.parts)]
		if p.ring.Empty() { //mutate:false TakeBlock gets no ID from an empty ring
			//mutate:remove as above
			continue // and delta may not be set yet
		}
		if p.delta > 1 {
			n = 1
		}
		if x, got, ok := p.ring.TakeBlock(n); ok { //mutate:true other takers empty the ring only between the two
			return p.id(x), got, nil
		}
	}
	return 0, 0, g.refill(ctx)
}

// refill is called by a caller that has found all rings empty. When it returns nil, the caller
// tries to take again.
func (g *Generator) refill(ctx context.Context) error {
	for _, p := range g.parts {
		generator.Signal(p.wake)
	}
	if g.cfg.OnEmpty == Reject {
		_, err := g.shortage()
		return err
	}
	return g.wait(ctx, false)
}

// grace is the time in which a source must return after its context has ended.
const grace = time.Second

// patience returns how long a caller waits for a range at most.
func (g *Generator) patience() time.Duration {
	return min(g.cfg.FetchTimeout, math.MaxInt64-grace) + grace
}

// wait waits until a part has IDs, and returns the reason if there will be none for now: all
// sources have failed, a source does not return in time, the generator is closed, or ctx has ended.
// With all it also waits, as long, until each source has returned or failed.
func (g *Generator) wait(ctx context.Context, all bool) error {
	late, fetched := time.After(g.patience()), g.Stats().Fetches
	for {
		//mutate:swap no test stops a goroutine between the two
		changed := g.filled.Wait() // before the checks, so that no change is missed
		failed, err := g.shortage()
		switch {
		case g.closer.Closed():
			return ErrClosed
		case err == nil && (!all || g.settled()):
			return nil
		case failed:
			return err
		}
		select {
		case <-changed:
			if now := g.Stats().Fetches; !all && now > fetched { // others have taken these IDs
				late, fetched = time.After(g.patience()), now
			}
			continue
		case <-late:
			if err != nil {
				err = fmt.Errorf("%w: no range has come within %v", err, g.patience())
			}
		case <-ctx.Done(): // the caller adds its error
		}
		return err // nil if there are IDs of some sources
	}
}

// settled reports whether each source has returned a range or failed.
func (g *Generator) settled() bool {
	return !slices.ContainsFunc(g.parts, func(p *part) bool { return p.fetches.Load() == 0 && p.failed.Load() == nil })
}

// shortage returns nil if a part has IDs, or the reason why there are none, and whether the last
// call of each source has failed. The reason is permanent if it is so for all sources.
func (g *Generator) shortage() (failed bool, err error) {
	var reasons []error
	passes, failed := false, true
	for _, p := range g.parts {
		reason := p.failed.Load() // before the ring: put comes before the reset of failed
		if !p.ring.Empty() {
			return false, nil
		}
		if reason == nil {
			failed = false
			reason = p.trying.Load()
		}
		if reason != nil {
			reasons = append(reasons, generator.Detach(*reason))
		}
		passes = passes || reason == nil || !permanent(*reason)
	}
	switch {
	case len(reasons) == 0:
		return false, ErrEmpty
	case passes:
		err = fmt.Errorf("%w: %w", ErrEmpty, errors.Join(reasons...))
	default:
		err = errors.Join(reasons...)
	}
	return failed, err
}

// reject counts an error before a method returns it.
func (g *Generator) reject(err error) error {
	if err != nil && !errors.Is(err, ErrClosed) {
		g.rejected.Add(1)
	}
	return err
}
