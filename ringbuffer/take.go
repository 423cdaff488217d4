package ringbuffer

import "math"

// Take returns the oldest ID in the ring, or false when there is none. It never waits.
func (r *Ring) Take() (id int64, ok bool) {
	// cursor before tail: the other way round, an old tail could make cursor pass it.
	c := r.cursor.Load()
	if c == r.tail.Load() {
		return 0, false // nothing was claimed, so nothing is lost
	}
	run := r.flags[r.place(c)].Load()
	if r.cursor.Load() == c { // else run may be that of a later Put
		// run was current while cursor was c. The slot may be handed over and even filled again before
		// the next line: then x belongs to another run and is not kept, which would break the order.
		x := r.slots[r.place(c)].next.Add(1) - 1
		if r.runOf(x) == run {
			return int64(x), true
		}
		r.failed.Add(1)
		r.advance(c)
	}
	return r.takeNext()
}

// takeNext goes on where a run has ended. That Take does not loop saves it from writing to its stack, for which the
// add would wait.
//
//go:noinline
func (r *Ring) takeNext() (id int64, ok bool) {
	x, n := r.claim(1)
	return int64(x), n != 0
}

// TakeN fills dst with the oldest IDs and returns how many it got, fewer than len(dst) when the ring ran
// empty. IDs of one call are increasing; other takers may get IDs in between.
func (r *Ring) TakeN(dst []int64) int {
	n := 0
	for n < len(dst) {
		first, got := r.claim(uint64(len(dst) - n))
		if got == 0 {
			break
		}
		for i := range dst[n : n+int(got)] {
			dst[n+i] = int64(first) + int64(i)
		}
		n += int(got)
	}
	return n
}

// TakeRun returns the rest of the oldest run: n consecutive IDs from first on, at most 2^runBits. It
// returns false when the ring is empty.
func (r *Ring) TakeRun() (first int64, n int, ok bool) { return r.TakeRange(math.MaxInt) }

// TakeRange is TakeRun for at most n IDs.
func (r *Ring) TakeRange(n int) (first int64, got int, ok bool) {
	if n <= 0 {
		return 0, 0, false
	}
	x, claimed := r.claim(uint64(n))
	return int64(x), int(claimed), claimed != 0
}

// claim takes up to want consecutive IDs of the oldest run; none means that the ring is empty. It
// swaps where Take adds, since an add of more than one could reach over the end of the run.
func (r *Ring) claim(want uint64) (first, n uint64) {
	for {
		c := r.cursor.Load()
		if c == r.tail.Load() {
			return 0, 0
		}
		run := r.flags[r.place(c)].Load()
		if r.cursor.Load() != c {
			continue
		}
		next := &r.slots[r.place(c)].next
		x := next.Load()
		if r.runOf(x) != run {
			r.advance(c)
			continue
		}
		n = min(want, r.end(run)-x)
		if next.CompareAndSwap(x, x+n) {
			return x, n
		}
	}
}

// advance hands the used-up slot at index c back to the producer, unless somebody already has.
func (r *Ring) advance(c uint64) {
	if !r.cursor.CompareAndSwap(c, c+1) || r.handover == nil {
		return
	}
	runs := min(r.tail.Load()-(c+1), uint64(len(r.slots)))
	r.handover(int(runs) << r.runBits)
}
