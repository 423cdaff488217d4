package linear

import "github.com/anishathalye/porcupine"

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
	drop    kind = "drop"    // removes span, all IDs of the first block up to max
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
		return s, true
	case refused:
		return s, s.n == slots
	case take:
		return s.remove(do.span, head.first+do.max-1)
	case drop:
		return s.remove(do.span, do.max)
	case floor:
		return s, s.n == 0 || head.first > do.max
	case peek:
		return s, do.span.first == head.first // 0 when the queue is empty
	case empty:
		return s, s.n == 0
	}
	panic("bug: a step of no kind")
}

// remove takes the IDs up to last of the first block, which have to be want.
func (s state) remove(want span, last int64) (state, bool) {
	head := s.blocks[0]
	if s.n == 0 || want != (span{head.first, min(head.last, last)}) {
		return s, false
	}
	if want.last < head.last {
		s.blocks[0].first = want.last + 1
		return s, true
	}
	copy(s.blocks[:], s.blocks[1:])
	s.n--
	s.blocks[s.n] = span{}
	return s, true
}

// model is the queue for the checker.
var model = porcupine.Model{
	Init: func() any { return state{} },
	Step: func(s, input, _ any) (bool, any) {
		next, ok := s.(state).apply(input.(step))
		return ok, next
	},
}
