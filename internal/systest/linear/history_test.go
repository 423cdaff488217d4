package linear

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/anishathalye/porcupine"

	"github.com/uidring/uidring/internal/test/testkit"
)

// A queue is a [ringbuffer.Ring] or a broken variant.
type queue interface {
	Put(first, last int64) bool
	Retire(last int64) int
	Peek() int64
	Take() (id int64, ok bool)
	TakeBlock(n int) (first int64, got int, ok bool)
}

const (
	takers = 2
	calls  = 200 // of each taker; the producer makes as many
)

// A history records the calls of several goroutines on a queue. While they run, they do little
// beside their calls: most would never meet otherwise.
type history struct {
	queue   queue
	clock   atomic.Int64
	waiting atomic.Int64
	events  [takers + 1][]event // the producer's are last

	blocks []span // put
}

// An event is a call that began and ended at two times.
type event struct {
	began, ended int64
	step
	retired int // IDs, if the step is a retirement
}

// record runs a producer and takers that the seed determines, except for their interleaving.
func record(q queue, seed uint64) *history {
	h := &history{queue: q}
	h.waiting.Store(takers + 1)
	testkit.Together(takers+1, func(i int) {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		h.events[i] = make([]event, 0, 8*calls)
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
			h.take(i, choice)
		}
	})
	for h.takeOne(0) { // the rest
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
			retired := h.queue.Retire(last)
			h.add(takers, event{began: began, step: step{kind: floor, max: last}, retired: retired})
		case 1:
			id := h.queue.Peek()
			h.add(takers, event{began: began, step: step{kind: peek, span: span{first: id}}})
		default:
			block := span{next, next + n%3}
			if !h.queue.Put(block.first, block.last) {
				h.add(takers, event{began: began, step: step{kind: refused}})
				break
			}
			h.add(takers, event{began: began, step: step{kind: put, span: block}})
			h.blocks = append(h.blocks, block)
			next = block.last + 1 + n%2
		}
	}
}

// add records an event of a goroutine that ends now.
func (h *history) add(goroutine int, e event) {
	e.ended = h.clock.Add(1)
	h.events[goroutine] = append(h.events[goroutine], e)
}

func (h *history) take(i, choice int) {
	n := 1 + choice/16
	switch choice % 2 {
	case 0:
		began := h.clock.Add(1)
		first, got, ok := h.queue.TakeBlock(n)
		s := step{kind: empty}
		if ok {
			s = step{take, span{first, first + int64(got) - 1}, int64(n)}
		}
		h.add(i, event{began: began, step: s})
	default:
		h.takeOne(i)
	}
}

func (h *history) takeOne(i int) bool {
	began := h.clock.Add(1)
	id, ok := h.queue.Take()
	s := step{kind: empty}
	if ok {
		s = step{take, span{id, id}, 1}
	}
	h.add(i, event{began: began, step: s})
	return ok
}

// operations returns all steps. A Retire becomes a drop for each block that it shortened, since
// takers may get IDs in between, and the observation that no ID was left. Its IDs are known in the
// end: the first IDs that no take returned and no earlier Retire dropped.
func (h *history) operations() (ops []porcupine.Operation, err error) {
	missing := h.missing()
	for goroutine, events := range h.events {
		for _, e := range events {
			add := func(s step) {
				ops = append(ops, porcupine.Operation{ClientId: goroutine, Call: e.began, Return: e.ended, Input: s})
			}
			if e.retired > len(missing) {
				return nil, fmt.Errorf("Retire(%d) = %d, and only %d IDs are missing", e.max, e.retired, len(missing))
			}
			for _, dropped := range h.byBlock(missing[:e.retired]) {
				add(step{drop, dropped, e.max})
			}
			missing = missing[e.retired:]
			add(e.step)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("IDs %v were neither returned nor retired", missing)
	}
	return ops, nil
}

// missing returns the IDs that were put and that no take returned.
func (h *history) missing() (ids []int64) {
	taken := make(map[int64]bool)
	for _, e := range slices.Concat(h.events[:]...) {
		if e.kind == take {
			for id := e.span.first; id <= e.span.last; id++ {
				taken[id] = true
			}
		}
	}
	for _, b := range h.blocks {
		for id := b.first; id <= b.last; id++ {
			if !taken[id] {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// byBlock returns the consecutive IDs of each block.
func (h *history) byBlock(ids []int64) (spans []span) {
	for _, b := range h.blocks {
		for _, id := range ids {
			last := len(spans) - 1
			switch {
			case id < b.first || id > b.last:
			case last >= 0 && spans[last].last == id-1 && id > b.first:
				spans[last].last = id
			default:
				spans = append(spans, span{id, id})
			}
		}
	}
	return spans
}

// check returns an error with the history unless some order of its steps explains all results.
func (h *history) check() error {
	ops, err := h.operations()
	if err != nil || porcupine.CheckOperations(model, ops) {
		return err
	}
	slices.SortFunc(ops, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var text strings.Builder
	for _, op := range ops {
		fmt.Fprintf(&text, "\n%3d to %3d  goroutine %d  %+v", op.Call, op.Return, op.ClientId, op.Input)
	}
	return fmt.Errorf("no order of these steps explains them:%s", text.String())
}
