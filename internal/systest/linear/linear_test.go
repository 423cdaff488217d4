package linear

import (
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/ringbuffer"
)

// histories is the number of seeds of each test.
const histories = 500

func newRing(t *testing.T) *ringbuffer.Ring {
	r, err := ringbuffer.New(slots, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTheRingIsLinearizable(t *testing.T) {
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

// A hasty ring takes a used-up block for an empty ring, every other time.
type hasty struct {
	*ringbuffer.Ring
	before *atomic.Bool
}

func (h hasty) Take() (int64, bool) {
	if id, ok := h.Current().Take(); ok {
		return id, true
	}
	if h.before.CompareAndSwap(false, true) {
		return 0, false
	}
	h.before.Store(false)
	return h.Ring.Take()
}

// A stopper leaves the last ID that it should retire.
type stopper struct{ *ringbuffer.Ring }

func (s stopper) Retire(last int64) int { return s.Ring.Retire(last - 1) }

// A repeater returns an ID again when the ring is empty.
type repeater struct{ *ringbuffer.Ring }

func (r repeater) TakeBlock(n int) (int64, int, bool) {
	first, got, ok := r.Ring.TakeBlock(n)
	if !ok {
		return 1, 1, true
	}
	return first, got, ok
}

// A forgetter refuses Put while the ring has any block, as a ring with one slot less would.
type forgetter struct{ *ringbuffer.Ring }

func (f forgetter) Put(first, last int64) bool { return f.Free() == slots && f.Ring.Put(first, last) }

func TestABrokenRingIsRefuted(t *testing.T) {
	for name, broken := range map[string]func(r *ringbuffer.Ring) queue{
		"takes ahead of the caller":   func(r *ringbuffer.Ring) queue { return hoarder{r, make(chan int64, 1)} },
		"empty before the ring is":    func(r *ringbuffer.Ring) queue { return hasty{r, new(atomic.Bool)} },
		"leaves a retired ID":         func(r *ringbuffer.Ring) queue { return stopper{r} },
		"returns an ID twice":         func(r *ringbuffer.Ring) queue { return repeater{r} },
		"refuses with a slot to fill": func(r *ringbuffer.Ring) queue { return forgetter{r} },
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(histories) {
				if err := record(broken(newRing(t)), seed).check(); err != nil {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			t.Errorf("no history out of %d shows it", histories)
		})
	}
}
