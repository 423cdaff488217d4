package ringbuffer

// Counts says what has become of the IDs put into a ring since New:
//
//	Put = Issued + Dropped + Retired + Remaining
type Counts struct {
	Put       uint64
	Issued    uint64 // returned by Take, TakeN and TakeRun
	Dropped   uint64 // spent by a taker that stalled until its slot had been handed over and filled again
	Retired   uint64 // dropped by Retire
	Remaining uint64 // in the ring
}

// Counts is derived from the words of the ring, so that no take has to count. It is exact while no other
// method runs. Beside takes it may be off by the takes in flight, beside Put and Retire by the runs in
// their hands. It visits every slot.
func (r *Ring) Counts() Counts {
	c := Counts{
		Retired:   r.retired.Load(),
		Remaining: uint64(r.Len()),
		Put:       r.puts.Load() << r.runBits,
	}
	failed, overshot := r.failed.Load(), r.overshot.Load()
	for i := range r.slots {
		if run := r.flags[i].Load(); run != 0 {
			overshot += sub(r.slots[i].next.Load(), r.end(run))
		}
	}
	// An add that failed either went beyond the end of a run or spent an ID of a run that was not its own.
	c.Dropped = sub(failed, overshot)
	c.Issued = sub(c.Put, c.Retired+c.Remaining+c.Dropped)
	return c
}

// Len returns the number of IDs in the ring, from 0 to Cap. It visits the slots in use.
func (r *Ring) Len() int {
	c := r.cursor.Load()
	t := r.tail.Load()
	n := uint64(0)
	for i := range min(t-c, uint64(len(r.slots))) {
		place := r.place(c + i)
		run := r.flags[place].Load()
		if x := r.slots[place].next.Load(); r.runOf(x) == run {
			n += r.end(run) - x
		}
	}
	return int(n)
}

// sub is a - b, or 0 where a concurrent change has made that negative.
func sub(a, b uint64) uint64 { return a - min(a, b) }
