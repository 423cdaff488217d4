package segment

// laneBlock is the number of IDs that a lane takes at once.
const laneBlock = 1024

// A Lane issues IDs to a single goroutine, faster than [Generator.Next]: it reserves up to 1,024
// consecutive IDs and hands them out without writing shared memory. Its IDs are unique, and
// increase if there is one source. Across lanes they are only roughly ordered. Make a Lane with
// [Generator.Lane] for each goroutine that needs many IDs, and Close it at the end: the rest of its
// block is lost. Two goroutines must not call its methods at once: they would get the same IDs. The
// race detector reports such calls.
type Lane struct {
	next       int64 // the next ID of the block
	left       int   // IDs from next on
	generation int64 // before the block was taken
	g          *Generator
	closed     bool
}

// Lane returns a new lane.
func (g *Generator) Lane() *Lane { return &Lane{g: g} }

// Next is [Generator.Next] on the lane.
func (l *Lane) Next() (id int64, err error) {
	if l.left <= 0 || l.generation != l.g.generation.Load() {
		if err := l.more(); err != nil {
			return 0, err
		}
	}
	id = l.next
	l.next++
	l.left--
	return id, nil
}

// more reserves another block.
func (l *Lane) more() (err error) {
	if l.closed {
		return errLaneClosed{}
	}
	l.generation = l.g.generation.Load()
	l.next, l.left, err = l.g.Reserve(laneBlock)
	return err
}

// Close drops the rest of the lane's block. Afterwards Next returns ErrClosed. Closing again does
// nothing.
func (l *Lane) Close() { l.left, l.closed = 0, true }

// errLaneClosed is ErrClosed for a lane whose generator goes on.
type errLaneClosed struct{}

func (errLaneClosed) Error() string { return "segment: lane closed" }

func (errLaneClosed) Unwrap() error { return ErrClosed }
