package cached

import (
	"math"
	"runtime"
)

// A lane is a block that its owner took whole from the ring. The owner is the goroutine that has a
// [Lane], or the goroutine that runs on a CPU. It counts through the block in words that no other
// goroutine writes, except for limit. Other goroutines read a lane for Stats, and revoke its limit
// when they retire its block.
type lane struct {
	last    word // the ID issued last; unsigned, since the largest ID has a successor
	limit   word // the last ID that may be issued; 0: none
	end     word // the last ID of the block
	retired word // IDs that the owner has dropped, of all its blocks
	coming  word // IDs that the lane may be taking from the ring: Stats counts them as remaining
	changes word // a seqlock: odd while the owner changes several of the other words
}

// take returns the next ID of the lane. It takes another block when the lane's is used up, and
// returns false when the ring is empty.
func (l *lane) take(g *Generator) (int64, bool) {
	if x := l.last.get() + 1; x <= l.limit.get() {
		l.last.set(x)
		return int64(x), true
	}
	return l.refill(g)
}

// refill drops the rest of a retired block and goes on with another block.
func (l *lane) refill(g *Generator) (int64, bool) {
	for {
		sequence := l.drop() & uint64(g.alloc.MaxSequence())
		l.coming.publish(uint64(g.alloc.MaxSequence()) + 1)
		g.pauseAt(laneTakes)
		first, n, ok := g.ring.TakeBlock(math.MaxInt)
		if !ok {
			l.coming.publish(0)
			return 0, false
		}
		g.pauseAt(laneHasTaken)
		x, end := uint64(first), uint64(first)+uint64(n)-1
		start := max(x, x&^uint64(g.alloc.MaxSequence())+sequence)
		if l.begin(x, min(start, end), end, g) { // end: a take of the ring has at most 2^40 IDs
			return int64(l.last.get()), true
		}
	}
}

// begin makes the IDs from x to end the block of the lane, drops the IDs below start, and issues
// start. It returns false when the block has been retired.
func (l *lane) begin(x, start, end uint64, g *Generator) bool {
	l.changing()
	defer l.changing()
	l.coming.publish(0)
	l.retired.publish(l.retired.get() + start - x)
	l.last.publish(start - 1)
	l.end.publish(end)
	// Publish the limit before loading cut: a retirement that raises cut after this load finds the
	// limit and revokes it.
	l.limit.publish(l.end.get())
	g.pauseAt(laneHasPublished)
	if start <= g.cut.Load() {
		return false
	}
	l.last.publish(start)
	return true
}

// A step is a moment at which a test may stall the owner of a lane in a refill, or Stats.
type step int

const (
	laneTakes        step = iota // the block is in the ring, and counted in coming, too
	laneHasTaken                 // the block is in the ring no more and in the lane not yet
	laneHasPublished             // the limit is published, and not compared with cut yet
	laneIsCounted                // Stats begins to read the words
)

func (g *Generator) pauseAt(s step) {
	if g.pause != nil {
		g.pause(s)
	}
}

// changing increments the lane's seqlock: odd while the owner updates several words. Keep the code
// between the two calls short, and call nothing there.
func (l *lane) changing() { l.changes.publish(l.changes.get() + 1) }

// drop counts the rest of the block as retired and empties the lane. It returns the first ID that
// it dropped, or 0. The lane goes on with the sequence number of that ID, so that its low bits are
// as even as the stream's; see Generator.goOn.
func (l *lane) drop() (rest uint64) {
	l.changing()
	defer l.changing()
	if l.last.get() < l.end.get() {
		rest = l.last.get() + 1
	}
	l.limit.publish(0)
	l.retired.publish(l.retired.get() + l.end.get() - l.last.get())
	l.last.publish(0)
	l.end.publish(0)
	return rest
}

// retire revokes the limit if the block ends at cut or below. Only goroutines other than the owner
// call it.
func (l *lane) retire(cut uint64) {
	if limit := l.limit.peek(); limit <= cut {
		l.limit.revoke(limit)
	}
}

// A count is the state of a lane as read by other goroutines. The number of issued IDs derived from
// it may be too low, by the calls in flight, but never too high.
type count struct {
	left     uint64 // IDs that the lane may issue, or is taking from the ring
	retiring uint64 // IDs of a block that was retired: the owner drops them, but calls in flight may still issue some
	retired  uint64 // IDs that the owner dropped
}

func (c *count) add(d count) {
	c.left += d.left
	c.retiring += d.retiring
	c.retired += d.retired
}

// count reads the lane, and retries if the owner changed it meanwhile.
func (l *lane) count(g *Generator) count {
	for {
		before := l.changes.peek()
		g.pauseAt(laneIsCounted)
		limit, end, last := l.limit.peek(), l.end.peek(), l.last.peek()
		c := count{left: l.coming.peek(), retired: l.retired.peek()}
		if before%2 != 0 || l.changes.peek() != before {
			runtime.Gosched()
			continue
		}
		if limit == 0 {
			c.retiring = end - last
		} else {
			c.left += end - last
		}
		return c
	}
}

// A Lane issues IDs to a single goroutine, faster than [Generator.Next]: it reserves all IDs of one
// unit and hands them out without touching shared memory. Its IDs are unique and increase. Across
// lanes, and between a lane and the generator, IDs are only roughly ordered: the units that two
// lanes hold may be up to MaxStaleness apart. Make a Lane with [Generator.Lane] for each goroutine
// that needs many IDs, and Close it at the end. Two goroutines must not call its methods at once:
// they would get the same IDs. The race detector reports such calls.
type Lane struct {
	lane
	owner  owner
	g      *Generator
	closed bool
}

// Lane returns a new lane. The generator keeps a reference to the lane until [Lane.Close].
func (g *Generator) Lane() *Lane {
	l := &Lane{g: g}
	g.handles.add(l)
	return l
}

// more is the slow path of Next. It leaves the first ID of another block in last, or 0 with an
// error, as Close does.
func (l *Lane) more() error {
	if l.closed {
		return errLaneClosed{}
	}
	_, err := l.g.path.Next(l.g.taker(&l.lane))
	return err
}

// Close drops the rest of the lane's block. Afterwards Next returns ErrClosed. Closing again does
// nothing.
func (l *Lane) Close() {
	if !l.closed {
		l.drop()
		l.closed = true
		l.g.handles.remove(l)
	}
	l.owner.called()
}

// errLaneClosed is ErrClosed for a lane whose generator goes on.
type errLaneClosed struct{}

func (errLaneClosed) Error() string { return "cached: lane closed" }

func (errLaneClosed) Unwrap() error { return ErrClosed }
