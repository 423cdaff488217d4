package ringbuffer

// Counts accounts for the IDs put into a ring since New:
//
//	Put = Issued + Retired + Remaining
type Counts struct {
	Put       uint64
	Issued    uint64 // returned by Take, TakeN and TakeBlock
	Retired   uint64 // dropped by Retire
	Remaining uint64 // in the ring
}

// Counts derives the counts from the words of the ring, so that no take has to count. It is exact
// during concurrent takes, which count from their add on, and during Put. During Retire it may be
// off by the IDs dropped meanwhile.
func (r *Ring) Counts() Counts {
	c := Counts{Put: r.put.Load(), Retired: r.retired.Load()}
	// If takers have gone on to another block since this load, this block has no IDs left, as at
	// the instant at which they went on.
	b := r.current.Load()
	c.Remaining = c.Put - min(b.total-b.left(), c.Put)
	c.Issued = c.Put - min(c.Retired+c.Remaining, c.Put)
	return c
}

// Len returns the number of IDs in the ring. During concurrent calls it is the number at some
// instant of the call.
func (r *Ring) Len() int { return int(r.Counts().Remaining) }

// Slots returns the number of slots.
func (r *Ring) Slots() int { return len(r.slots) }
