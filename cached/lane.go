package cached

import "runtime"

// A lane is a run that was taken whole from the ring, to be issued without a word that others write. It belongs to one
// goroutine at a time, that of a [Lane] or the one that runs on a CPU. Others look at it for Stats, and take its limit away when
// the run is retired.
type lane struct {
	last    word // the ID issued last; unsigned, like all: after the largest ID comes a number that is larger still
	limit   word // the last ID that may be issued; 0: none
	end     word // the last ID of the run
	retired word // IDs that were dropped, of all its runs so far
	coming  word // IDs that the lane may be taking from the ring: to Stats they are left, not issued
	changes word // odd while the owner goes from one run to another, when the other words do not belong together
}

// take returns the next ID of the lane, from another run if need be, or false when the ring is empty.
func (l *lane) take(g *Generator) (int64, bool) {
	if x := l.last.get() + 1; x <= l.limit.get() {
		l.last.set(x)
		return int64(x), true
	}
	return l.refill(g)
}

// refill drops what is left, which has been retired, and goes on with another run.
func (l *lane) refill(g *Generator) (int64, bool) {
	for {
		l.drop()
		l.coming.publish(uint64(g.alloc.MaxSequence()) + 1)
		first, n, ok := g.ring.TakeRun()
		if !ok {
			l.coming.publish(0)
			return 0, false
		}
		if l.begin(uint64(first), n, g) {
			return first, true
		}
	}
}

// begin makes a run that begins with x the lane's own, and x the ID issued last. It reports false when the run has been retired.
func (l *lane) begin(x uint64, n int, g *Generator) bool {
	l.changing()
	defer l.changing()
	l.coming.publish(0)
	l.last.publish(x - 1)
	l.end.publish(x + uint64(n) - 1)
	// In this order: whoever retires the run after this look at cut sees the limit, and takes it away.
	l.limit.publish(l.end.get())
	if x <= g.cut.Load() {
		return false
	}
	l.last.publish(x)
	return true
}

// changing is called by the owner before and after it changes words that belong together. What lies between is short, and calls nobody.
func (l *lane) changing() { l.changes.publish(l.changes.get() + 1) }

// drop counts what is left as retired. The lane is empty then.
func (l *lane) drop() {
	l.changing()
	defer l.changing()
	l.limit.publish(0)
	l.retired.publish(l.retired.get() + l.end.get() - l.last.get())
	l.last.publish(0)
	l.end.publish(0)
}

// retire takes the limit away if the run ends at cut or below. It is called by others than the owner.
func (l *lane) retire(cut uint64) {
	if limit := l.limit.peek(); limit != 0 && limit <= cut {
		l.limit.revoke(limit)
	}
}

// counts returns how many IDs the lane has left, and how many it has dropped, as far as others can tell.
func (l *lane) counts() (left, retired uint64) {
	for {
		before := l.changes.peek()
		limit, end, last := l.limit.peek(), l.end.peek(), l.last.peek()
		retired = l.retired.peek()
		coming := l.coming.peek()
		if before%2 != 0 || l.changes.peek() != before {
			runtime.Gosched()
			continue
		}
		left = end - min(last, end)
		if limit == 0 { // retired, and not dropped yet
			return coming, retired + left
		}
		return left, retired
	}
}

// A Lane issues IDs to one goroutine, for less than a [Generator] does: it takes the IDs of a unit of time at once,
// and counts through them alone. Its IDs increase, and are nobody else's; against those of the generator
// and of other lanes they are ordered as the units in their hands are, which lie up to MaxStaleness apart. Make one with
// [Generator.Lane] for each goroutine that needs many IDs, and Close it at the end. Its methods must not be called by two goroutines at once.
type Lane struct {
	lane
	g      *Generator
	closed bool
}

// Lane returns a new lane. One that is not closed is kept for as long as the generator.
func (g *Generator) Lane() *Lane {
	l := &Lane{g: g}
	g.handles.add(l)
	return l
}

// more is the rest of Next: the ID of another run becomes the last one, or 0 with an error.
func (l *Lane) more() error {
	if l.closed {
		l.last.set(0)
		return ErrClosed
	}
	_, err := l.g.nextFromEmpty(&l.lane)
	return l.g.rejected(err)
}

// Close drops what is left in the lane. Next then returns ErrClosed. Closing again does nothing.
func (l *Lane) Close() {
	if !l.closed {
		l.drop()
		l.closed = true
		l.g.handles.remove(l)
	}
}
