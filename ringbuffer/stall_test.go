package ringbuffer_test

import (
	"math"
	"testing"

	"github.com/uidring/uidring/ringbuffer"
)

// stalled returns a ring of two runs of four, 4…7 and 8…11, and a take that has been held up before its add.
func stalled(t *testing.T) (*ringbuffer.Ring, ringbuffer.StalledTake) {
	t.Helper()
	r := newRing(t, 2, 2)
	r.Put(4)
	r.Put(8)
	s, ok := r.StallTake()
	if !ok {
		t.Fatal("the ring is empty")
	}
	return r, s
}

// lost resumes a take that comes too late, and compares what the ring says then.
func lost(t *testing.T, r *ringbuffer.Ring, s ringbuffer.StalledTake, want ringbuffer.Counts) {
	t.Helper()
	if id, ok := s.Resume(); ok {
		t.Errorf("the stalled take returned %d, which is not of the run it had seen", id)
	}
	if got := r.Counts(); got != want {
		t.Errorf("Counts() = %+v, want %+v", got, want)
	}
}

func TestAStalledTakeHoldsUpNobody(t *testing.T) {
	r, s := stalled(t)
	next := int64(12)
	for want := int64(4); want < 400; want++ {
		id, ok := r.Take()
		if id != want || !ok {
			t.Fatalf("Take() = %d, %t, want %d", id, ok, want)
		}
		for r.Free() > 0 {
			if !r.Put(next) {
				t.Fatalf("Put(%d) = false", next)
			}
			next += 4
		}
	}
	s.Resume()
}

func TestAStalledTakeStillGetsAnIDOfItsRun(t *testing.T) {
	r, s := stalled(t)
	r.Take()
	if id, ok := s.Resume(); id != 5 || !ok {
		t.Errorf("the stalled take returned %d, %t, want 5", id, ok)
	}
	if want := (ringbuffer.Counts{Put: 8, Issued: 2, Remaining: 6}); r.Counts() != want {
		t.Errorf("Counts() = %+v, want %+v", r.Counts(), want)
	}
}

func TestAStalledTakeOfAUsedUpRunDropsNothing(t *testing.T) {
	t.Run("which it hands over", func(t *testing.T) {
		r, s := stalled(t)
		r.TakeRun()
		lost(t, r, s, ringbuffer.Counts{Put: 8, Issued: 4, Remaining: 4})
		if r.Free() != 1 {
			t.Errorf("%d slots are free, want 1", r.Free())
		}
	})
	t.Run("that was handed over", func(t *testing.T) {
		r, s := stalled(t)
		r.TakeN(make([]int64, 5))
		lost(t, r, s, ringbuffer.Counts{Put: 8, Issued: 5, Remaining: 3})
	})
	t.Run("that is refilled afterwards", func(t *testing.T) {
		r, s := stalled(t)
		r.TakeN(make([]int64, 5))
		s.Resume()
		r.Put(12)
		if want := (ringbuffer.Counts{Put: 12, Issued: 5, Remaining: 7}); r.Counts() != want {
			t.Errorf("Counts() = %+v, want %+v", r.Counts(), want)
		}
	})
	t.Run("that was retired", func(t *testing.T) {
		r, s := stalled(t)
		r.Retire(8)
		lost(t, r, s, ringbuffer.Counts{Put: 8, Retired: 4, Remaining: 4})
	})
}

func TestAStalledTakeDropsOneIDOfALaterRun(t *testing.T) {
	r, s := stalled(t)
	r.TakeN(make([]int64, 5))
	r.Put(12)
	lost(t, r, s, ringbuffer.Counts{Put: 12, Issued: 5, Dropped: 1, Remaining: 6})
	got := make([]int64, 8)
	n := r.TakeN(got)
	for i, want := range []int64{9, 10, 11, 13, 14, 15} {
		if n != 6 || got[i] != want {
			t.Fatalf("the takes after it got %v, want 9 10 11 13 14 15", got[:n])
		}
	}
}

func TestAStalledTakeDropsTheLastIDOfALaterRun(t *testing.T) {
	r, s := stalled(t)
	r.TakeN(make([]int64, 8))
	r.Put(12) // into the slot of run 4…7, which TakeN has handed over
	r.TakeN(make([]int64, 3))
	lost(t, r, s, ringbuffer.Counts{Put: 12, Issued: 11, Dropped: 1})
	if id, ok := r.Take(); ok {
		t.Errorf("Take() = %d, want none: the ring was empty", id)
	}
	if want := (ringbuffer.Counts{Put: 12, Issued: 11, Dropped: 1}); r.Counts() != want {
		t.Errorf("Counts() = %+v, want %+v", r.Counts(), want)
	}
}

func TestManyStalledTakesAreAllAccountedFor(t *testing.T) {
	r, first := stalled(t)
	stalls := []ringbuffer.StalledTake{first}
	for range 9 {
		s, _ := r.StallTake()
		stalls = append(stalls, s)
	}
	r.TakeN(make([]int64, 5))
	r.Put(12)
	for _, s := range stalls { // 4 drop the new run, 6 overshoot it
		if id, ok := s.Resume(); ok {
			t.Errorf("a stalled take returned %d", id)
		}
	}
	if want := (ringbuffer.Counts{Put: 12, Issued: 5, Dropped: 4, Remaining: 3}); r.Counts() != want {
		t.Errorf("Counts() = %+v, want %+v", r.Counts(), want)
	}
	r.Retire(math.MaxInt64)
	r.Put(16)
	r.Put(20)
	if want := (ringbuffer.Counts{Put: 20, Issued: 5, Dropped: 4, Retired: 3, Remaining: 8}); r.Counts() != want {
		t.Errorf("Counts() = %+v after Retire and Put, want %+v", r.Counts(), want)
	}
}

func TestAStalledBatchTakesNothingOfALaterRun(t *testing.T) {
	for name, pass := range map[string]func(*ringbuffer.Ring){
		"another took one":  func(r *ringbuffer.Ring) { r.Take() },
		"another took all":  func(r *ringbuffer.Ring) { r.TakeRun() },
		"the run retired":   func(r *ringbuffer.Ring) { r.Retire(8) },
		"the slot refilled": func(r *ringbuffer.Ring) { r.Retire(8); r.Put(12) },
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := stalled(t)
			s, ok := r.StallClaim()
			if !ok {
				t.Fatal("nothing to claim")
			}
			pass(r)
			before := r.Counts()
			if first, n := s.Resume(4); n != 0 {
				t.Errorf("the stalled batch got %d IDs from %d", n, first)
			}
			if got := r.Counts(); got != before {
				t.Errorf("Counts() = %+v, want %+v as before", got, before)
			}
		})
	}
}
