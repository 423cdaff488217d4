package ringbuffer_test

import (
	"math"
	"strings"
	"testing"

	"github.com/uidring/uidring/ringbuffer"
)

func TestPutPanicsOnARunThatCouldRepeatIDs(t *testing.T) {
	for _, test := range []struct {
		name  string
		first int64
	}{
		{"zero", 0},
		{"negative", -8},
		{"the smallest", math.MinInt64},
		{"not at the beginning of a run", 17},
		{"at the end of a run", 23},
		{"the last one again", 16},
		{"below the last one", 8},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRing(t, 4, 3)
			r.Put(16)
			before := r.Counts()
			defer func() {
				text, _ := recover().(string)
				if !strings.HasPrefix(text, "bug: ringbuffer: Put(") {
					t.Errorf("Put(%d) panicked with %q, want a bug", test.first, text)
				}
				if got := r.Counts(); got != before {
					t.Errorf("counts are %+v after it, want %+v", got, before)
				}
			}()
			r.Put(test.first)
		})
	}
}

// A run that was used up or retired may not come back either.
func TestPutRemembersTheLastRun(t *testing.T) {
	for name, empty := range map[string]func(*ringbuffer.Ring){
		"taken":   func(r *ringbuffer.Ring) { r.TakeRun() },
		"retired": func(r *ringbuffer.Ring) { r.Retire(math.MaxInt64) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRing(t, 2, 1)
			r.Put(6)
			empty(r)
			defer func() {
				if recover() == nil {
					t.Error("Put(6) a second time did not panic")
				}
			}()
			r.Put(6)
		})
	}
}

func TestPutIntoAFullRingChangesNothing(t *testing.T) {
	r := newRing(t, 2, 1)
	r.Put(2)
	r.Put(4)
	before := r.Counts()
	if r.Put(6) {
		t.Error("Put into a full ring = true, want false")
	}
	if got := r.Counts(); got != before {
		t.Errorf("Counts() = %+v, want %+v as before", got, before)
	}
	for want := int64(2); want < 6; want++ {
		if id, ok := r.Take(); id != want || !ok {
			t.Fatalf("Take() = %d, %t, want %d", id, ok, want)
		}
	}
	if !r.Put(6) {
		t.Error("Put of the run that was refused = false, want true after a hand-over")
	}
}

func TestTheLastRunOfALayoutIsIssuedToItsLastID(t *testing.T) {
	for _, runBits := range []uint8{0, 1, 3, 13} {
		size := int64(1) << runBits
		last := math.MaxInt64 - size + 1
		takes := map[string]func(*ringbuffer.Ring) (int64, int){
			"Take": func(r *ringbuffer.Ring) (id int64, n int) {
				for next, ok := r.Take(); ok; next, ok = r.Take() {
					id = next
					n++
				}
				return id, n
			},
			"TakeN": func(r *ringbuffer.Ring) (int64, int) {
				dst := make([]int64, size+1)
				n := r.TakeN(dst)
				return dst[n-1], n
			},
			"TakeRun": func(r *ringbuffer.Ring) (int64, int) {
				first, n, _ := r.TakeRun()
				return first + int64(n) - 1, n
			},
		}
		for name, take := range takes {
			r := newRing(t, 2, runBits)
			r.Put(last)
			if id, n := take(r); id != math.MaxInt64 || n != int(size) {
				t.Errorf("%s: last ID of a run of %d is %d after %d, want 2^63-1", name, size, id, n)
			}
			if id, ok := r.Take(); ok {
				t.Errorf("%s: a run of %d: Take() = %d after the last ID", name, size, id)
			}
		}
		r := newRing(t, 2, runBits)
		r.Put(last)
		r.Take()
		if got := r.Retire(math.MaxInt64); got != int(size)-1 && runBits > 0 {
			t.Errorf("Retire of the rest of a run of %d = %d", size, got)
		}
	}
}
