package cached

import (
	"math"
	"sync"

	"github.com/uidring/uidring/internal/generator"
)

// A Lane issues IDs to a single goroutine, faster than [Generator.Next]: it reserves all IDs that
// are left of one unit and hands them out without writing to shared memory. Its IDs are unique and
// increase. Across lanes, and between a lane and the generator, IDs are only roughly ordered: each
// lane in use holds a unit of its own, so n slow lanes put ID time up to about n units ahead of the
// clock. The generator counts the IDs of a lane as issued when the lane reserves them.
//
// Make a Lane with [Generator.Lane] for each of the goroutines that take IDs all the time, and keep
// it as long as the goroutine runs: the first ID of each lane costs the rest of a unit, and so ID
// time. Take the ID of a request from Next. A sync.Pool does not keep lanes, since the garbage
// collector empties it. A lane must not be copied, and two goroutines must not use it at once: both
// would get the same IDs. go vet reports copies, and the race detector such calls.
type Lane struct {
	_    [0]sync.Mutex // go vet reports copies
	last int64         // the ID issued last
	end  int64         // the last ID of the block
	g    *Generator
	_    [104]byte // keeps the lanes of two goroutines out of one cache line
}

// Lane returns a new lane.
func (g *Generator) Lane() *Lane { return &Lane{g: g} }

// Next is [Generator.Next] on the lane.
func (l *Lane) Next() (int64, error) {
	if l.last < l.end && l.end > l.g.cut.Load() {
		l.last++
		return l.last, nil
	}
	return l.more()
}

// more is the slow path of Next, whose frame would be larger with it. It goes on with another block
// of the ring. That block may be retired meanwhile: then this call began before, and the next one
// drops the block. The first block of a lane begins at a scattered sequence number, and so does a
// block that replaces a retired block.
//
//go:noinline
func (l *Lane) more() (int64, error) {
	first, n, err := l.g.Reserve(math.MaxInt)
	if err != nil {
		return 0, err
	}
	begin := first
	if l.last < l.end || l.end == 0 {
		begin &^= l.g.alloc.MaxSequence()
		begin += generator.Scatter(begin, l.g.alloc.Layout().SequenceBits)
	}
	l.end = first + int64(n) - 1
	l.last = max(first, begin) // a block ends above begin, and so does a take of 2^40 IDs
	return l.last, nil
}
