package original_test

import (
	"testing"

	"github.com/uidring/uidring/internal/test/original"
)

// The defect, step by step: while one taker is in the first pause, another takes the last ID, and
// is held up before it sets the flag. Both return the ID.
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
