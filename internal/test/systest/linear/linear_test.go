// Package linear checks recorded histories of package ringbuffer for linearizability: each behaves
// like a queue of blocks that does one operation at a time. The package contains only tests.
package linear

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/ringbuffer"
)

const (
	histories = 500 // seeds of each test
	takers    = 2
	calls     = 200 // of each taker; the producer makes as many
)

// A queue is a [ringbuffer.Ring] or a broken variant.
type queue interface {
	Put(first, last int64) bool
	Retire(last int64) int
	Peek() int64
	Take() (id int64, ok bool)
	TakeBlock(n int) (first int64, got int, ok bool)
}

// slots is the number of blocks of the rings under test, as few as a ring may have: they are often
// full and often empty.
const slots = 2

// A span is the IDs from first to last.
type span struct{ first, last int64 }

// A kind is an operation of the queue that the ring has to behave like.
type kind string

const (
	put     kind = "put"     // adds the block span
	refused kind = "refused" // Put found no free slot
	take    kind = "take"    // removes span, all that it could get of max IDs
	drop    kind = "drop"    // removes the IDs of the first block up to max, if it has some
	floor   kind = "floor"   // Retire found no ID up to max
	peek    kind = "peek"    // saw span.first, or found no ID
	empty   kind = "empty"   // a take found no ID
)

// A step is an operation with its result.
type step struct {
	kind kind
	span span
	max  int64
}

// A state is the blocks of the queue with the IDs that they still have.
type state struct {
	blocks [slots]span
	n      int
}

// apply returns the state after a step, or false when the queue would have given another result.
func (s state) apply(do step) (state, bool) {
	head := s.blocks[0]
	switch do.kind {
	case put:
		if s.n == slots {
			return s, false
		}
		s.blocks[s.n] = do.span
		s.n++
	case refused:
		return s, s.n == slots
	case take:
		if s.n == 0 || do.span != (span{head.first, min(head.last, head.first+do.max-1)}) {
			return s, false
		}
		return s.remove(do.span.last), true
	case drop:
		return s.remove(do.max), true
	case floor:
		return s, s.n == 0 || head.first > do.max
	case peek:
		return s, do.span.first == head.first // 0 when the queue is empty
	case empty:
		return s, s.n == 0
	}
	return s, true
}

// remove removes the IDs of the first block up to last.
func (s state) remove(last int64) state {
	if s.n == 0 {
		return s
	}
	if s.blocks[0].first = max(s.blocks[0].first, last+1); s.blocks[0].first > s.blocks[0].last {
		copy(s.blocks[:], s.blocks[1:])
		s.n--
		s.blocks[s.n] = span{}
	}
	return s
}

// model is the queue for the checker.
var model = porcupine.Model{
	Init: func() any { return state{} },
	Step: func(s, input, _ any) (bool, any) {
		next, ok := s.(state).apply(input.(step))
		return ok, next
	},
}

// A history records the calls of several goroutines on a queue. While they run, they do little
// beside their calls: most would never meet otherwise.
type history struct {
	queue   queue
	clock   atomic.Int64
	waiting atomic.Int64
	steps   [takers + 1][]porcupine.Operation // the producer's are last
	gone    int64                             // IDs put, less the IDs that Retire counted
}

// record runs a producer and takers that the seed determines, except for their interleaving.
func record(q queue, seed uint64) *history {
	h := &history{queue: q}
	h.waiting.Store(takers + 1)
	testkit.Together(takers+1, func(i int) {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		h.steps[i] = make([]porcupine.Operation, 0, 8*calls)
		choices := make([]int, calls)
		for c := range choices {
			choices[c] = rng.IntN(64)
		}
		h.waiting.Add(-1)
		for h.waiting.Load() > 0 {
			runtime.Gosched()
		}
		if i == takers {
			h.produce(choices)
			return
		}
		for _, choice := range choices {
			h.take(i, choice%2 == 0, 1+choice/16)
		}
	})
	for h.take(0, false, 1) { // the rest
	}
	return h
}

func (h *history) produce(choices []int) {
	next := int64(1)
	for _, choice := range choices {
		began := h.clock.Add(1)
		switch n := int64(choice / 8); choice % 8 {
		case 0:
			last := next - 1 - n%3
			h.gone -= int64(h.queue.Retire(last))
			// Takers may get IDs between the blocks that Retire shortens.
			h.add(takers, began, append(slices.Repeat([]step{{kind: drop, max: last}}, slots), step{kind: floor, max: last})...)
		case 1:
			h.add(takers, began, step{kind: peek, span: span{first: h.queue.Peek()}})
		default:
			s := step{kind: put, span: span{next, next + n%3}}
			if !h.queue.Put(s.span.first, s.span.last) {
				h.add(takers, began, step{kind: refused})
				break
			}
			h.add(takers, began, s)
			h.gone += s.span.last + 1 - next
			next = s.span.last + 1 + n%2
		}
	}
}

// take takes an ID, or up to n of a block, and reports whether there was one.
func (h *history) take(i int, block bool, n int) (ok bool) {
	var first int64
	got, most := 1, 1
	began := h.clock.Add(1)
	if block {
		first, got, ok = h.queue.TakeBlock(n)
		most = n
	} else {
		first, ok = h.queue.Take()
	}
	if !ok {
		h.add(i, began, step{kind: empty})
		return false
	}
	h.add(i, began, step{take, span{first, first + int64(got) - 1}, int64(most)})
	return true
}

// add records the steps of a call that ends now.
func (h *history) add(goroutine int, began int64, steps ...step) {
	ended := h.clock.Add(1)
	for _, s := range steps {
		h.steps[goroutine] = append(h.steps[goroutine], porcupine.Operation{ClientId: goroutine, Call: began, Return: ended, Input: s})
	}
}

// check returns an error with the history unless some order of its steps explains all results.
func (h *history) check() error {
	left, steps := h.gone, slices.Concat(h.steps[:]...)
	for _, op := range steps {
		if s := op.Input.(step); s.kind == take {
			left -= s.span.last + 1 - s.span.first
		}
	}
	if left == 0 && porcupine.CheckOperations(model, steps) {
		return nil
	}
	slices.SortFunc(steps, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var text strings.Builder
	for _, op := range steps {
		fmt.Fprintf(&text, "\n%3d to %3d  goroutine %d  %+v", op.Call, op.Return, op.ClientId, op.Input)
	}
	return fmt.Errorf("%d IDs were neither returned nor counted by Retire, or no order of these steps explains them:%s", left, &text)
}

func newRing(t *testing.T) *ringbuffer.Ring {
	r, err := ringbuffer.New(slots, nil)
	testkit.Must(t, err)
	return r
}

func TestRingIsLinearizable(t *testing.T) {
	for seed := range uint64(histories) {
		if err := record(newRing(t), seed).check(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// A hoarder takes two IDs at once and keeps the second for the next caller.
type hoarder struct {
	*ringbuffer.Ring
	kept chan int64
}

func (h hoarder) Take() (int64, bool) {
	select {
	case id := <-h.kept:
		return id, true
	default:
	}
	first, got, ok := h.TakeBlock(2)
	if got == 2 {
		select {
		case h.kept <- first + 1:
		default:
		}
	}
	return first, ok
}

func TestCheckRefutesABrokenRing(t *testing.T) {
	for seed := range uint64(histories) {
		if record(hoarder{newRing(t), make(chan int64, 1)}, seed).check() != nil {
			return
		}
	}
	t.Errorf("no history out of %d shows that a take is ahead of the caller", histories)
}
