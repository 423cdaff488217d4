package ringbuffer

// Current returns the block that takers use now, for callers that want its Take inlined:
//
//	id, ok := ring.Current().Take()
//	if !ok {
//		id, ok = ring.Take()
//	}
func (r *Ring) Current() *Block { return r.current.Load() }

// Take returns the oldest ID in the ring, or false when the ring is empty. It never waits.
func (r *Ring) Take() (id int64, ok bool) {
	for {
		b := r.current.Load()
		if id, ok := b.Take(); ok {
			return id, true
		}
		if !r.next(b) {
			return 0, false
		}
	}
}

// TakeN fills dst with the oldest IDs and returns their number, less than len(dst) when the ring
// becomes empty. The IDs of one call increase; other takers may get IDs in between.
func (r *Ring) TakeN(dst []int64) int {
	n := 0
	for n < len(dst) {
		first, got, ok := r.TakeBlock(len(dst) - n)
		if !ok {
			break
		}
		write(dst[n:n+got], first)
		n += got
	}
	return n
}

// write fills dst with consecutive numbers, four at a time: one at a time would take twice as long.
func write(dst []int64, first int64) {
	for ; len(dst) >= 4; dst, first = dst[4:], first+4 {
		dst[0], dst[1], dst[2], dst[3] = first, first+1, first+2, first+3
	}
	for i := range dst {
		dst[i] = first + int64(i)
	}
}

// TakeBlock takes up to n consecutive IDs, from first to first+got-1; got is less than n if the
// block ends before. It returns false when the ring is empty or n is less than 1.
func (r *Ring) TakeBlock(n int) (first int64, got int, ok bool) {
	if n < 1 {
		return 0, 0, false
	}
	for {
		b := r.current.Load()
		if x, got := b.take(uint64(n)); got > 0 {
			return int64(x), int(got), true
		}
		if !r.next(b) {
			return 0, 0, false
		}
	}
}

// Empty reports whether the ring has no ID, for takers. It is exact as a take is: if it returns true,
// the ring was empty at an instant of the call, and if false, it had an ID.
func (r *Ring) Empty() bool {
	for {
		b := r.current.Load()
		if b.left() > 0 {
			return false
		}
		if !r.next(b) {
			return true
		}
	}
}

// next is advance for a taker. It returns false when the ring is empty.
func (r *Ring) next(b *Block) bool {
	more, moved := r.advance(b)
	if moved && r.handover != nil {
		r.handover(int(min(r.tail.Load()-(b.index+1), uint64(len(r.slots)))))
	}
	return more
}
