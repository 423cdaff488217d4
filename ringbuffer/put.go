package ringbuffer

import (
	"fmt"
	"math"
)

// Put adds the run of 2^runBits IDs that begins at first, or returns false when no slot is free. One
// goroutine at a time may call Put and Retire. A first that is not positive, not a multiple of 2^runBits, or
// not above the last run put is a programming error and panics: run numbers that only grow are what makes IDs
// unique.
func (r *Ring) Put(first int64) bool {
	run := r.runOf(uint64(first))
	if first <= 0 || run<<r.runBits != uint64(first) || run <= r.lastRun {
		panic(fmt.Sprintf("bug: ringbuffer: Put(%d) into runs of %d after run %d", first, 1<<r.runBits, r.lastRun))
	}
	if r.Free() == 0 {
		return false
	}
	t := r.tail.Load()
	place := r.place(t)
	old := r.slots[place].next.Swap(uint64(first))
	if last := r.flags[place].Load(); last != 0 {
		r.overshot.Add(old - r.end(last))
	}
	r.flags[place].Store(run)
	r.lastRun = run
	r.puts.Add(1)
	r.tail.Store(t + 1) // hands the slot over
	return true
}

// Free returns the number of slots that a Put would find free; it is for the producer. Takers can only add to it.
func (r *Ring) Free() int {
	return len(r.slots) - int(r.tail.Load()-r.cursor.Load())
}

// Retire drops the runs that begin below before, oldest first, and returns how many IDs were dropped. With
// math.MaxInt64 it drops all.
// A caller that is in a take at that moment may still return an ID of theirs, none that begins later does. One
// goroutine at a time may call Put and Retire.
func (r *Ring) Retire(before int64) int {
	dropped := uint64(0)
	for c := r.cursor.Load(); c != r.tail.Load(); c = r.cursor.Load() {
		run := r.flags[r.place(c)].Load()
		if int64(run<<r.runBits) >= before && before != math.MaxInt64 {
			break
		}
		// At the end of its run the slot looks used up to every taker, and so it is.
		end := r.end(run)
		if old := r.slots[r.place(c)].next.Swap(end); old < end {
			dropped += end - old
		} else {
			r.overshot.Add(old - end)
		}
		r.cursor.CompareAndSwap(c, c+1) // a taker may have been faster
	}
	r.retired.Add(dropped)
	return int(dropped)
}
