package ringbuffer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/uidring/uidring/ringbuffer"
)

// scaled is a number of IDs for a load: n, or less where that would take too long.
func scaled(n int) int {
	if raceDetector || testing.Short() {
		return n / 8
	}
	return n
}

// mixed chooses between Take, TakeN and TakeBlock at every call.
func mixed(r *ringbuffer.Ring, seed uint64) take {
	rng := rand.New(rand.NewPCG(seed, 1))
	var buf [5]int64
	return func(ids []int64) []int64 {
		switch rng.IntN(4) {
		case 0:
			n := r.TakeN(buf[:1+rng.IntN(len(buf))])
			return append(ids, buf[:n]...)
		case 1:
			first, n, _ := r.TakeBlock(1 + rng.IntN(8))
			for i := range int64(n) {
				ids = append(ids, first+i)
			}
			return ids
		default:
			if id, ok := r.Take(); ok {
				ids = append(ids, id)
			}
			return ids
		}
	}
}

func single(r *ringbuffer.Ring) take {
	return func(ids []int64) []int64 {
		if id, ok := r.Take(); ok {
			ids = append(ids, id)
		}
		return ids
	}
}

// check takes the rest, and compares the counts of the ring with the record of the load.
func check(t *testing.T, r *ringbuffer.Ring, l *load, retired int) {
	t.Helper()
	issued := 0
	for _, s := range l.taken {
		issued += len(s.ids)
	}
	got, left := r.Counts(), r.Len()
	if rest := l.takeRest(); rest != left {
		t.Errorf("Len() = %d, but %d IDs could be taken", left, rest)
	}
	w, put, missing := l.count()
	if w != (wrong{}) {
		t.Errorf("%+v, want nothing of that", w)
	}
	want := ringbuffer.Counts{
		Put:       uint64(put),
		Issued:    uint64(issued),
		Retired:   uint64(retired),
		Remaining: uint64(left),
	}
	if missing != retired || got != want {
		t.Errorf("Counts() = %+v, want %+v; %d IDs were not returned", got, want, missing)
	}
}

func TestEveryIDIsIssuedOnceInOrderAndAccountedFor(t *testing.T) {
	sizes := []struct {
		slots   int
		largest int64 // block
	}{{2, 1}, {2, 3}, {8, 16}, {8, 2000}}
	seed := uint64(0)
	for _, size := range sizes {
		for _, takers := range []int{1, 2, 8, 64} {
			for _, procs := range []int{1, 2, 4, 8} {
				if procs/2 > takers {
					break // as with fewer: the load has takers + 1 goroutines
				}
				seed++
				name := fmt.Sprintf("slots=%d/block=%d/takers=%d/procs=%d", size.slots, size.largest, takers, procs)
				t.Run(name, func(t *testing.T) {
					for _, retire := range []bool{false, true} {
						for _, leave := range []bool{false, true} {
							stress(t, size.slots, size.largest, takers, procs, retire, leave, seed)
						}
					}
				})
			}
		}
	}
}

func stress(t *testing.T, slots int, largest int64, takers, procs int, retire, leave bool, seed uint64) {
	t.Helper()
	r, err := ringbuffer.New(slots, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.StartAt(math.MaxUint64 - 2)
	retired := 0
	l := load{
		first: 1 << 40, largest: largest, ids: max(scaled(16_384), 4*slots*int(largest)),
		put: r.Put, leave: leave, seed: seed,
	}
	if retire {
		l.retire = func(last int64) { retired += r.Retire(last) }
	}
	for i := range takers {
		l.takers = append(l.takers, mixed(r, seed<<8+uint64(i)))
	}
	l.run(procs)
	check(t, r, &l, retired)
}

// The load of upstream issue 105: 8 takers that find a ring of two blocks empty most of the time.
func TestADrainedRingRepeatsNothing(t *testing.T) {
	for _, procs := range []int{1, 2, 4, 8} {
		r, err := ringbuffer.New(2, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.StartAt(math.MaxUint64)
		l := &load{first: 1, largest: 1, ids: scaled(200_000), put: r.Put, takers: slices.Repeat([]take{single(r)}, 8)}
		l.run(procs)
		check(t, r, l, 0)
	}
}
