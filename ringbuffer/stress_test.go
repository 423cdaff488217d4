package ringbuffer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/ringbuffer"
)

// A load puts a ring under one producer and many takers, and records the IDs taken.
type load struct {
	*ringbuffer.Ring
	takers  int
	largest int64 // block: they have one to that many IDs
	ids     int   // to put, at least
	retire  bool  // the producer drops IDs now and then
	leave   bool  // takers stop with the producer, even if the ring has IDs left
	seed    uint64

	put     []int64
	retired int
	done    atomic.Bool  // no block will be put any more
	taken   idset.Ledger // without a lock that would keep takers in step
}

// run applies the load with that many processors. Each ID is returned at most once, in order, and
// accounted for.
func (l *load) run(t *testing.T, procs int) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	testkit.Together(l.takers+1, func(i int) {
		if i < l.takers {
			l.consume(t, i)
			return
		}
		l.produce()
		l.done.Store(true)
	})
	issued, counts := l.taken.Len(), l.Counts()
	l.leave = false
	l.consume(t, l.takers) // the rest
	all := l.taken.Len()
	known := len(l.taken.Add(l.put...))
	want := ringbuffer.Counts{
		Put: uint64(len(l.put)), Issued: uint64(issued), Retired: uint64(l.retired), Remaining: uint64(all - issued),
	}
	if known != all || len(l.put)-all != l.retired || counts != want {
		t.Errorf("Counts() = %+v, want %+v; %d IDs were returned, and %d of them put", counts, want, all, known)
	}
}

// produce puts blocks of all lengths. Now and then it leaves IDs out: so does a new worker ID, or
// time that has moved on.
func (l *load) produce() {
	rng := rand.New(rand.NewPCG(l.seed, 0))
	for next := int64(1) << 40; len(l.put) < l.ids; {
		if l.retire && rng.IntN(16) == 0 {
			l.retired += l.Retire(next - 1 - rng.Int64N(4*l.largest))
		}
		if rng.IntN(8) == 0 {
			next += 1 + rng.Int64N(l.largest)
		}
		last := next + rng.Int64N(l.largest)
		for !l.Put(next, last) {
			runtime.Gosched()
		}
		for ; next <= last; next++ {
			l.put = append(l.put, next)
		}
	}
}

// consume takes until there is nothing left to come, or just until the producer is done.
func (l *load) consume(t *testing.T, taker int) {
	rng := rand.New(rand.NewPCG(l.seed, 1+uint64(taker)))
	var buf [8]int64
	for {
		done := l.done.Load()
		if done && l.leave {
			return
		}
		n, _ := l.taken.Take(t, func() ([]int64, error) { return buf[:l.take(rng, buf[:])], nil })
		if n == 0 && done {
			return
		}
		if n == 0 {
			runtime.Gosched()
		}
	}
}

// take fills buf by Take or TakeBlock, and returns the number of IDs.
func (l *load) take(rng *rand.Rand, buf []int64) (n int) {
	if rng.IntN(2) == 0 {
		first, n, _ := l.TakeBlock(1 + rng.IntN(len(buf)))
		for i := range n {
			buf[i] = first + int64(i)
		}
		return n
	}
	id, ok := l.Take()
	if !ok {
		return 0
	}
	buf[0] = id
	return 1
}

// With blocks of one ID in two slots this is the load of upstream issue 105: takers find the ring
// empty most of the time.
func TestEveryIDIsIssuedOnceInOrderAndAccountedFor(t *testing.T) {
	seed := uint64(0)
	for _, size := range []struct {
		slots   int
		largest int64 // block
	}{{2, 1}, {2, 3}, {8, 16}, {8, 2000}} {
		for _, takers := range []int{1, 2, 8, 64} {
			for _, procs := range []int{1, 2, 8} {
				if procs/2 > takers {
					break // as with fewer: the load has takers + 1 goroutines
				}
				seed++
				t.Run(fmt.Sprintf("slots=%d/block=%d/takers=%d/procs=%d", size.slots, size.largest, takers, procs), func(t *testing.T) {
					for way := range 4 {
						if testing.Short() && way != int(seed%4) {
							continue
						}
						r := newRing(t, size.slots)
						r.StartAt(math.MaxUint64 - 2)
						l := &load{Ring: r, takers: takers, largest: size.largest, ids: max(testkit.Scaled(16_384), 2*size.slots*int(size.largest)),
							retire: way&1 != 0, leave: way&2 != 0, seed: seed}
						l.run(t, procs)
					}
				})
			}
		}
	}
}

// A take that begins after Retire gets no retired ID, even if others have taken IDs meanwhile.
func TestRetireHoldsBesideTakers(t *testing.T) {
	r := newRing(t, 2)
	r.Put(1, 1<<40) // more than the takers use up
	var done atomic.Bool
	testkit.Together(2, func(i int) {
		for i > 0 && !done.Load() {
			r.Take()
		}
		for range testkit.Scaled(1_000_000) * (1 - i) {
			id, _ := r.Take()
			r.Retire(id + 50)
			if next, ok := r.Take(); next <= id+50 {
				t.Errorf("ID %d, %t after Retire(%d)", next, ok, id+50)
				break
			}
		}
		done.Store(true)
	})
}
