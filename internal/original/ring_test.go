package original_test

import (
	"errors"
	"testing"

	"github.com/uidring/uidring/internal/original"
)

// With one goroutine at a time the algorithm is right, which makes it a fair baseline.
func TestTakeReturnsIDsInTheOrderOfPuts(t *testing.T) {
	pads := 0
	r := original.New(8, 4, func() { pads++ })
	put := int64(0)
	for id := int64(1); id <= 100; id++ {
		for r.Put(put + 1) {
			put++
		}
		if left := put - id + 1; left != 8 && (left != 7 || id == 1) {
			t.Fatalf("%d IDs fit 8 slots, want 7, or 8 before the first take", left)
		}
		if got, err := r.Take(); got != id || err != nil {
			t.Fatalf("Take() = %d, %v, want %d", got, err, id)
		}
	}
	for id := int64(101); id <= put; id++ {
		if got, err := r.Take(); got != id || err != nil {
			t.Fatalf("Take() = %d, %v, want %d", got, err, id)
		}
	}
	if id, err := r.Take(); !errors.Is(err, original.ErrEmpty) || pads != 5 {
		t.Errorf("Take() of an empty ring = %d, %v, want ErrEmpty; %d calls of pad, want 5, with 3 to 0 IDs left", id, err, pads)
	}
}

// The defect, step by step: while one taker is in the first pause, another takes the last ID.
func TestTakeThatWasOvertakenFindsItsSlotNotReady(t *testing.T) {
	r := original.New(8, 0, nil)
	r.Put(1)
	r.Step = func() {
		r.Step = nil
		if id, err := r.Take(); id != 1 || err != nil {
			t.Errorf("the other Take() = %d, %v, want 1", id, err)
		}
	}
	if id, err := r.Take(); !errors.Is(err, original.ErrNotReady) {
		t.Errorf("Take() = %d, %v, want ErrNotReady", id, err)
	}
}

// The same, but the other taker is held up before it sets the flag: both return its ID.
func TestTakeThatWasOvertakenReturnsAnIDAgain(t *testing.T) {
	r := original.New(8, 0, nil)
	r.Put(1)
	ready, finish, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var theirs int64
	pauses := 0 // only one of the two goroutines runs at a time
	r.Step = func() {
		pauses++
		switch pauses {
		case 1: // ours, after reading cursor: the other runs up to its second pause
			go func() {
				defer close(done)
				theirs, _ = r.Take()
			}()
			<-ready
		case 3: // theirs, after checking the flag: ours runs to its end
			close(ready)
			<-finish
		}
	}
	ours, err := r.Take()
	close(finish)
	<-done
	if ours != 1 || theirs != 1 || err != nil {
		t.Errorf("got %d (%v) and %d, want 1 twice", ours, err, theirs)
	}
}
