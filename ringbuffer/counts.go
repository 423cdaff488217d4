package ringbuffer

// Counts says what has become of the IDs put into a ring since New:
//
//	Put = Issued + Retired + Remaining
type Counts struct {
	Put       uint64
	Issued    uint64 // returned by Take, TakeN and TakeBlock
	Retired   uint64 // dropped by Retire
	Remaining uint64 // in the ring
}

// Counts is derived from the words of the ring, so that no take has to count. It is exact, beside takes, too: they
// count from their add on. Beside Put and Retire it may be off by the block in their hands.
func (r *Ring) Counts() Counts {
	c := Counts{Put: r.put.Load(), Retired: r.retired.Load()}
	for {
		b := r.current.Load()
		c.Remaining = c.Put - min(b.total-b.left(), c.Put)
		if r.current.Load() == b { // else takers may have gone on to the next block before the look at b
			break
		}
	}
	c.Issued = c.Put - min(c.Retired+c.Remaining, c.Put)
	return c
}

// Len returns the number of IDs in the ring. Beside other calls it is that of a moment.
func (r *Ring) Len() int { return int(r.Counts().Remaining) }

// Slots returns the number of slots.
func (r *Ring) Slots() int { return len(r.slots) }
