package defaultgen

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/uidring/uidring/internal/tenure"
)

// Next returns a new ID. It does not wait: ErrSequenceExhausted, ErrClockBack and ErrLeaseExhausted pass,
// ErrTimeExhausted and ErrClosed stay.
func (g *Generator) Next() (int64, error) {
	id, _, err := g.claim(1)
	return id, g.reject(err)
}

// NextContext is Next for callers that would rather wait than get an error that passes: for the next unit, for
// a worker ID, and, under the policy Wait, for a clock that is behind by no more than MaxClockBack. It returns when
// there is an ID, with another error, or when ctx ends, with an error that wraps both ctx's and the reason for
// waiting. An ID that is there is returned even when ctx has ended.
func (g *Generator) NextContext(ctx context.Context) (int64, error) {
	if id, _, err := g.claim(1); err == nil {
		return id, nil
	}
	for {
		news, now := g.tenure.News(), g.clock.now() // before the claim, to miss no news and no unit
		id, _, err := g.claim(1)
		wait, ok := g.worthWaiting(err, now)
		if !ok {
			return id, g.reject(err)
		}
		select {
		case <-time.After(wait):
		case <-news:
		case <-g.done:
			return 0, ErrClosed
		case <-ctx.Done():
			return 0, g.reject(fmt.Errorf("defaultgen: waiting for an ID: %w: %w", ctx.Err(), err))
		}
	}
}

// Fill fills dst with new, increasing IDs and returns how many there are. With fewer than len(dst) it returns
// one of the errors of Next; those that it got are good. It does not wait.
func (g *Generator) Fill(dst []int64) (int, error) {
	n := 0
	for n < len(dst) {
		first, got, err := g.claim(int64(len(dst) - n))
		if err != nil {
			return n, g.reject(err)
		}
		for i := range got {
			dst[n] = first + i
			n++
		}
	}
	return n, nil
}

// claim takes up to want consecutive IDs of the current unit, at least one.
func (g *Generator) claim(want int64) (first, n int64, err error) {
	for {
		last := g.last.Load()
		h := g.tenure.Current()
		next, err := g.after(last, h)
		if err != nil {
			return 0, 0, err
		}
		maxSequence := g.alloc.MaxSequence()
		n = min(want, maxSequence-next&maxSequence+1)
		if !g.last.CompareAndSwap(last, next+n-1) {
			continue
		}
		if held := g.tenure.Current(); held == nil || held.Term != h.Term {
			continue // lost meanwhile: these IDs are not issued
		}
		first, err := g.alloc.Allocate(g.delta(next), g.cfg.DatacenterID, h.WorkerID, next&maxSequence)
		if err != nil {
			panic(fmt.Sprintf("bug: defaultgen: admitted %d: %v", next, err))
		}
		return first, n, nil
	}
}

// after returns what follows last, now, under the holding h.
func (g *Generator) after(last int64, h *tenure.Holding) (next int64, err error) {
	if h == nil {
		select {
		case <-g.done:
			return 0, ErrClosed
		default:
			return 0, g.tenure.Shortage(ErrLeaseExhausted)
		}
	}
	if h.First > g.alloc.MaxDelta() {
		return 0, tenure.Exhausted(ErrTimeExhausted, g.alloc)
	}
	last = max(last, h.First<<g.alloc.Layout().SequenceBits-1) // what came before belongs to earlier holders
	used := g.delta(last)
	maxSequence := g.alloc.MaxSequence()
	t := g.clock.now()
	now := g.alloc.Delta(t)
	switch {
	case now < used && g.cfg.OnClockBack == GoOn: // only an earlier holder can be ahead of this clock
		g.clock.raise(g.alloc.Time(used + 1))
		return g.newUnit(used+1, last&maxSequence, h)
	case now < used:
		return 0, &ClockBackError{Behind: g.alloc.Time(used).Sub(t)}
	case now > used:
		return g.newUnit(now, last&maxSequence, h)
	case last&maxSequence < maxSequence && used <= h.Limit:
		return last + 1, nil
	case last&maxSequence < maxSequence:
		g.tenure.Extend(used)
		return 0, g.tenure.Shortage(ErrLeaseExhausted)
	default:
		return 0, ErrSequenceExhausted
	}
}

// newUnit returns the beginning of the unit delta; sequence is where the unit before ended.
func (g *Generator) newUnit(delta, sequence int64, h *tenure.Holding) (next int64, err error) {
	if delta > g.alloc.MaxDelta() {
		return 0, tenure.Exhausted(ErrTimeExhausted, g.alloc)
	}
	if delta > h.Limit {
		g.tenure.Extend(delta)
		return 0, g.tenure.Shortage(ErrLeaseExhausted)
	}
	if delta >= h.Half {
		g.tenure.Extend(h.Limit + 1) // ahead of need, so that a slow store costs nothing
	}
	g.announceEnd(delta) // once per unit, off the path of the other IDs
	return delta<<g.alloc.Layout().SequenceBits | g.sequenceStart(sequence), nil
}

// sequenceStart returns the first sequence number of a unit after one that ended with last.
func (g *Generator) sequenceStart(last int64) int64 {
	switch g.cfg.SequenceStart {
	case Random:
		return rand.Int64N(g.cfg.SequenceBound)
	case Continue:
		return (last + 1) % g.cfg.SequenceBound
	default:
		return 0
	}
}

// worthWaiting says whether a shortage that was met at now, or later, passes, and after which time to look again.
func (g *Generator) worthWaiting(err error, now time.Time) (time.Duration, bool) {
	if back, ok := errors.AsType[*ClockBackError](err); ok {
		return back.Behind, g.cfg.OnClockBack == Wait && back.Behind <= g.cfg.MaxClockBack
	}
	switch {
	case errors.Is(err, ErrSequenceExhausted):
		return g.alloc.Time(g.alloc.Delta(now) + 1).Sub(now), true
	case errors.Is(err, ErrLeaseExhausted):
		return math.MaxInt64, true // until the tenure has news
	default:
		return 0, false
	}
}

// reject reports an error to the user of a method before it is returned.
func (g *Generator) reject(err error) error {
	if err != nil && !errors.Is(err, ErrClosed) {
		g.rejected.Add(1)
		if f := g.cfg.Trace.TakeRejected; f != nil {
			tenure.Call(g.cfg.Logger, "Trace.TakeRejected", func() { f(err) })
		}
	}
	return err
}
