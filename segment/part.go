package segment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/storecall"
	"github.com/uidring/uidring/ringbuffer"
)

const (
	firstPause   = 20 * time.Millisecond
	longestPause = time.Second
)

// A part has the ranges of one source, in a ring. The ring counts 1, 2, 3 and so on where the IDs
// go in steps of delta: ID x*delta - offset is x in the ring.
type part struct {
	g      *Generator
	index  int
	source Source
	ring   *ringbuffer.Ring
	wake   chan struct{} // capacity 1: wakes the goroutine of run

	// run writes these words before the first Put, and takers read them after a take.
	delta, offset int64

	// Only the goroutine of run uses these.
	last  int64         // the largest number put
	pause time.Duration // before the next retry
	// adapt measures the rate from these on: the time of its last call, which is zero before the
	// first range, and the number of IDs issued by then.
	began  time.Time
	issued uint64

	step    atomic.Int64
	failed  atomic.Pointer[error] // the error of the last call of the source; nil: it has answered
	trying  atomic.Pointer[error] // the last error of the present call, which the source repeats
	fetches atomic.Int64
	fails   atomic.Int64
}

func (g *Generator) newPart(index int, source Source) *part {
	//mutate:number an extra wake finds nothing to fetch
	p := &part{g: g, index: index, source: source, wake: make(chan struct{}, 1), pause: firstPause}
	p.step.Store(g.cfg.Step) //mutate:swap no other goroutine has the part yet
	//mutate:number a larger ring costs memory
	p.ring, _ = ringbuffer.New(1<<bits.Len(uint(g.cfg.Prefetch)), p.handover) // Prefetch + 1 slots or more: no error
	return p
}

// handover is called when a range begins. It passes the turn to the next source, and wakes the
// goroutine of run: a range ahead is missing now.
func (p *part) handover(int) {
	p.g.turn.Store(int64(p.index + 1)) //mutate:swap run does not read turn
	generator.Signal(p.wake)
}

// id returns the ID for a number of the ring.
func (p *part) id(x int64) int64 { return x*p.delta - p.offset }

// run fetches ranges until the generator is closed.
func (p *part) run() {
	for {
		wake := p.wake
		var retry <-chan time.Time
		switch err := p.fill(); {
		case err == nil:
			p.pause = firstPause
		case permanent(err):
			wake = nil
		default:
			//mutate:number a pause of fewer values is within the same bounds
			wake, retry = nil, time.After(p.pause/2+rand.N(p.pause/2))
			p.pause = min(2*p.pause, longestPause)
		}
		select {
		case <-p.g.ctx.Done():
			return
		case <-wake:
		case <-retry:
		}
	}
}

// fill fetches ranges until Prefetch of them are ready beside the present one. A range has ended
// when the goroutine of run is woken. Up to Prefetch more rounds fill an empty ring. For each round
// after them a range has ended meanwhile: callers outrun the store. They may do so until Close
// ends.
func (p *part) fill() error {
	ahead := p.g.cfg.Prefetch
	for round := 0; p.ring.Slots()-p.ring.Free() <= ahead && p.g.ctx.Err() == nil; round++ {
		if round == 0 || round > ahead {
			p.adapt()
		}
		if err := p.fetch(); err != nil {
			return err
		}
	}
	return nil
}

// adapt doubles the size of the ranges if a range of this size lasts less than RangeLasts at the
// rate of the range that has just ended, and halves it if the range lasts more than twice as long.
// The first ID of the next range may count or not, so the rate is right to one ID. adapt leaves the
// size for the first ranges. During an outage only a retry calls it, and no range has ended: the
// present range goes on, or the next one begins when the store answers.
func (p *part) adapt() {
	retry := p.failed.Load() != nil
	if retry && p.ring.Free() < p.ring.Slots() {
		return
	}
	step, began, issued := p.step.Load(), p.began, p.issued
	//mutate:remove,swap no test stops a goroutine between the two
	p.g.mu.Lock() // Counts is not exact beside drop
	//mutate:swap no test stops a goroutine before the Unlock
	p.began, p.issued = time.Now(), p.ring.Counts().Issued
	p.g.mu.Unlock()
	if retry {
		return
	}
	lasts := float64(step) * float64(p.began.Sub(began)) / float64(p.issued-issued)
	switch wanted := float64(p.g.cfg.RangeLasts); {
	case lasts < wanted: //mutate:operator the rate is right to one ID
		p.step.Store(min(2*step, p.g.cfg.MaxStep))
	case lasts > 2*wanted: //mutate:number,operator how much longer is tuning
		p.step.Store(max(step/2, p.g.cfg.Step))
	}
}

// fetch fetches one range and puts it into the ring.
func (p *part) fetch() error {
	began, generation := time.Now(), p.g.generation.Load()
	r, err := p.advance()
	if err == nil {
		err = p.put(r, generation)
	}
	if err != nil {
		if p.g.ctx.Err() != nil {
			return ErrClosed
		}
		p.fail(err)
		return err
	}
	if r.First <= max(r.Increment, 1) {
		p.g.cfg.Logger.Log(context.Background(), p.g.level, "segment: the counter is new", "counter", p.g.cfg.Name, "source", p.index, "range", r.String(),
			"remedy", "if IDs of it were issued before, its store has lost it: stop the processes that use it, and run segment.Recover")
	}
	p.fetches.Add(1) //mutate:swap the two are independent
	p.trying.Store(nil)
	if p.failed.Swap(nil) != nil {
		p.g.cfg.Logger.Info("segment: the source answers again", p.attrs()...)
	}
	p.g.filled.Wake() //mutate:swap a caller may read Stats before or after the report
	generator.Report(p.g.cfg.Logger, "Fetched", p.g.cfg.Trace.Fetched, FetchedInfo{p.index, r, time.Since(began)})
	return nil
}

// advance calls the source, and returns a panic of the source as an error. A call that is not
// back within its deadline may have moved the counter in vain, so the next one asks for half as
// many IDs.
func (p *part) advance() (r Range, err error) {
	if clash := p.g.clash.Load(); clash != nil {
		return r, *clash
	}
	ctx, cancel := context.WithTimeout(p.g.ctx, p.g.cfg.FetchTimeout)
	defer cancel()
	//mutate:swap the two are independent
	ctx = storecall.OnFailure(ctx, func(err error) { p.trying.Store(&err) })
	err = errors.New("segment: the source panicked")
	step := p.step.Load()
	generator.Call(p.g.cfg.Logger, "Source.Advance", func() {
		r, err = p.source.Advance(ctx, p.g.cfg.Name, step)
	})
	if ctx.Err() != nil {
		p.step.Store(max(step/2, p.g.cfg.Step))
	}
	return r, err
}

// put checks a range and puts it into the ring. It drops the range if the generation has changed
// since its fetch began: a copy of the process may have got the same answer.
func (p *part) put(r Range, generation int64) error {
	if err := r.check(); err != nil {
		return err
	}
	delta := max(r.Increment, 1)
	offset := (delta - r.First%delta) % delta
	first, last := (r.First-1)/delta+1, (r.Last-1)/delta+1
	switch {
	case p.delta != 0 && (delta != p.delta || offset != p.offset):
		return fmt.Errorf("%w: %v after ranges with Increment %d and IDs such as %d; restart the process to use the new Increment",
			ErrInvalidRange, r, p.delta, p.id(p.last))
	case first <= p.last:
		return fmt.Errorf("%w: it returned the range %v after ID %d: the store has lost commits; run segment.Recover for %q "+
			"and restart the processes that use it", ErrWentBack, r, p.id(p.last), p.g.cfg.Name)
	}
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	if err := p.g.claim(p.index, delta, offset); err != nil {
		return err
	}
	//mutate:true the words keep their values
	if p.delta == 0 { // later, takers read these words
		p.delta, p.offset = delta, offset
	}
	p.last = last
	if p.g.generation.Load() == generation {
		p.ring.Put(first, last)
	}
	return nil
}

// fail records an error of the source. Of several only the first makes a log record, and the
// permanent one, after which there is no other.
func (p *part) fail(err error) {
	p.fails.Add(1)
	if p.failed.Swap(&err) == nil || permanent(err) {
		p.g.cfg.Logger.Warn("segment: the source has failed", append(p.attrs(), slog.Any("error", err))...)
	}
	p.g.filled.Wake() // callers that wait for this call get the error
}

func (p *part) attrs() []any {
	return []any{slog.String("counter", p.g.cfg.Name), slog.Int("source", p.index), slog.Int("remaining", p.ring.Len())}
}
