package original_test

import (
	"errors"
	"testing"

	"github.com/uidring/uidring/internal/original"
)

// With one goroutine at a time the algorithm is right, which makes it a fair baseline.
func TestTakesInTheOrderOfPuts(t *testing.T) {
	r := original.New(8, 0, nil)
	put, taken := int64(0), int64(0)
	for range 100 {
		for r.Put(put + 1) {
			put++
		}
		if got := put - taken; got < 7 || got > 8 {
			t.Fatalf("%d IDs fit 8 slots, want 7, or 8 before the first take", got)
		}
		for range 5 {
			id, err := r.Take()
			if err != nil || id != taken+1 {
				t.Fatalf("Take() = %d, %v, want %d", id, err, taken+1)
			}
			taken++
		}
	}
	for taken < put {
		id, err := r.Take()
		if err != nil || id != taken+1 {
			t.Fatalf("Take() = %d, %v, want %d", id, err, taken+1)
		}
		taken++
	}
	if id, err := r.Take(); !errors.Is(err, original.ErrEmpty) {
		t.Errorf("Take() of an empty ring = %d, %v, want ErrEmpty", id, err)
	}
}

func TestPadsAtEveryTakeBelowTheThreshold(t *testing.T) {
	pads := 0
	r := original.New(8, 4, func() { pads++ })
	for id := int64(1); r.Put(id); id++ {
	}
	for id := int64(1); id <= 8; id++ {
		before := pads
		if got, err := r.Take(); got != id || err != nil {
			t.Fatalf("Take() = %d, %v, want %d", got, err, id)
		}
		if left, called := 8-id, pads-before == 1; called != (left < 4) {
			t.Errorf("pad called with %d IDs left: %t", left, called)
		}
	}
}

// The defect, step by step: while one taker is in the first pause, another takes the last ID.
func TestATakeThatWasOvertakenFindsItsSlotNotReady(t *testing.T) {
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
func TestATakeThatWasOvertakenReturnsAnIDAgain(t *testing.T) {
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
