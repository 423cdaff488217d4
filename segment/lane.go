package segment

// laneBlock is the number of IDs that a lane takes at once.
const laneBlock = 1024

// A Lane issues IDs to a single goroutine, faster than [Generator.Next]: it reserves up to 1,024
// consecutive IDs and hands them out without touching shared memory. Its IDs are unique, and
// increase if there is one source. Across lanes they are only roughly ordered. Make a Lane with
// [Generator.Lane] for each goroutine that needs many IDs, and Close it at the end: the rest of its
// block is lost. Two goroutines must not call its methods at once: they would get the same IDs. The
// race detector reports such calls.
type Lane struct {
	next, end int64 // the IDs of the block that are left: from next to end-1
	g         *Generator
	closed    bool
}

// Lane returns a new lane.
func (g *Generator) Lane() *Lane { return &Lane{g: g} }

// Next is [Generator.Next] on the lane.
func (l *Lane) Next() (id int64, err error) {
	if l.next >= l.end {
		err = l.more()
	}
	id = l.next
	l.next++
	return id, err
}

// more reserves another block. With an error it leaves next so that Next returns 0 and the lane
// stays empty.
func (l *Lane) more() error {
	if l.closed {
		l.next, l.end = 0, 0
		return ErrClosed
	}
	first, got, err := l.g.Reserve(laneBlock)
	l.next, l.end = first, first+int64(got)
	return err
}

// Close drops the rest of the lane's block. Afterwards Next returns ErrClosed. Closing again does
// nothing.
func (l *Lane) Close() { l.next, l.end, l.closed = 0, 0, true }
