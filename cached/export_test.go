package cached

import "math"

// StallBeforeBegin takes a block from the ring into the lane, as refill does, and stops before the
// lane begins the block. The returned func does the rest of that turn. It returns false when the
// block has been retired meanwhile.
func (l *Lane) StallBeforeBegin() (resume func() bool) {
	l.drop()
	l.coming.publish(uint64(l.g.alloc.MaxSequence()) + 1)
	first, n, ok := l.g.ring.TakeBlock(math.MaxInt)
	if !ok {
		return nil
	}
	return func() bool {
		begun := l.begin(uint64(first), uint64(first), uint64(first)+uint64(n)-1, l.g)
		if !begun {
			l.drop()
		}
		return begun
	}
}

// StallInNext begins a Next of an ID that the lane has, and stops before it stores that ID. The
// returned func does the rest.
func (l *Lane) StallInNext() (resume func() int64) {
	x := l.last.get() + 1
	if x > l.limit.get() {
		return nil
	}
	return func() int64 {
		l.last.set(x)
		return int64(x)
	}
}

// LockLanes keeps retirement from visiting lanes until unlock is called.
func (g *Generator) LockLanes() (unlock func()) {
	g.handles.mu.Lock()
	return g.handles.mu.Unlock
}

// Cut returns the last ID that has been retired as far as lanes are concerned.
func (g *Generator) Cut() uint64 { return g.cut.Load() }
