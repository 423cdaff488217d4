package linear

import (
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

func TestCheckRefutesATakeAheadOfTheCaller(t *testing.T) {
	for seed := range uint64(histories) {
		if err := record(hoarder{newRing(t), make(chan int64, 1)}, seed).check(); err != nil {
			t.Logf("seed %d: %v", seed, err)
			return
		}
	}
	t.Errorf("no history out of %d shows it", histories)
}
