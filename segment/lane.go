package segment

import "sync"

// laneBlock is the number of IDs that a lane takes at once.
const laneBlock = 1024

// A Lane issues IDs to a single goroutine, faster than [Generator.Next]: it reserves up to 1,024
// consecutive IDs and hands them out without writing shared memory. Its IDs are unique, and
// increase if there is one source. Across lanes they are only roughly ordered.
//
// Make a Lane with [Generator.Lane] for each goroutine that needs many IDs, or keep lanes in a
// sync.Pool. Nothing refers to a lane but its users, so it may be dropped at any time: the rest of
// its block is lost. A lane must not be copied, and two goroutines must not use it at once: both
// would get the same IDs. go vet reports copies, and the race detector such calls.
type Lane struct {
	_          [0]sync.Mutex // go vet reports copies
	next       int64         // the next ID of the block
	left       int           // IDs from next on
	generation int64         // before the block was taken
	g          *Generator
	_          [96]byte // keep other lanes out of the cache lines that this one writes
}

// Lane returns a new lane.
func (g *Generator) Lane() *Lane { return &Lane{g: g} }

// Next is [Generator.Next] on the lane.
func (l *Lane) Next() (id int64, err error) {
	if now := l.g.generation.Load(); l.left <= 0 || l.generation != now {
		// If Invalidate comes in between, the block may be of a range that it dropped, and the next
		// call drops the block.
		l.generation = now
		if l.next, l.left, err = l.g.Reserve(laneBlock); err != nil {
			return 0, err
		}
	}
	id = l.next
	l.next++
	l.left--
	return id, nil
}
