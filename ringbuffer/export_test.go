package ringbuffer

// StartAt moves cursor and tail of a new ring, so that tests reach the wrap of an index.
func (r *Ring) StartAt(index uint64) {
	r.cursor.Store(index)
	r.tail.Store(index)
}

// Cursor returns the index of the slot being taken from.
func (r *Ring) Cursor() uint64 { return r.cursor.Load() }

// A StalledTake is a Take that has been held up just before it adds to next.
type StalledTake struct {
	r      *Ring
	c, run uint64
}

// StallTake begins a Take. It returns false when the ring is empty.
func (r *Ring) StallTake() (StalledTake, bool) {
	c := r.cursor.Load()
	if c == r.tail.Load() {
		return StalledTake{}, false
	}
	return StalledTake{r: r, c: c, run: r.flags[r.place(c)].Load()}, true
}

// Resume does the rest of the turn. False means that a Take would now begin again.
func (s StalledTake) Resume() (id int64, ok bool) {
	r := s.r
	x := r.slots[r.place(s.c)].next.Add(1) - 1
	if r.runOf(x) == s.run {
		return int64(x), true
	}
	r.failed.Add(1)
	r.advance(s.c)
	return 0, false
}

// A StalledClaim is a TakeN or TakeRun that has been held up just before it swaps next.
type StalledClaim struct {
	r         *Ring
	c, run, x uint64
}

// StallClaim begins a TakeN. It returns false when the ring is empty or its oldest run used up.
func (r *Ring) StallClaim() (StalledClaim, bool) {
	take, ok := r.StallTake()
	if !ok {
		return StalledClaim{}, false
	}
	s := StalledClaim{r: r, c: take.c, run: take.run}
	s.x = r.slots[r.place(s.c)].next.Load()
	return s, r.runOf(s.x) == s.run
}

// Resume does the rest of a turn that wants that many IDs. None means that a TakeN would now begin again.
func (s StalledClaim) Resume(want int) (first int64, n int) {
	n = min(want, int(s.r.end(s.run)-s.x))
	if s.r.slots[s.r.place(s.c)].next.CompareAndSwap(s.x, s.x+uint64(n)) {
		return int64(s.x), n
	}
	return 0, 0
}
