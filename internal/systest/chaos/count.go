package chaos

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/uidring/uidring/bitsalloc"
)

// A counter counts every ID. It keeps a bitmap for each block, the IDs of one worker ID and delta,
// until all IDs of the block have arrived. Its memory therefore does not grow with the duration of
// the run. Any number of goroutines may use it.
type counter struct {
	alloc   *bitsalloc.Allocator
	workers int64 // those below it may appear

	mu       sync.Mutex
	runs     map[int64]*run // by ID without its sequence
	tally    tally
	byWorker []int64  // IDs
	findings []string // the first few
}

// A tally is the result of a counter.
type tally struct {
	ids        int64 // without duplicates
	duplicates int64 // IDs that had arrived before
	shared     int64 // runs with IDs of more than one process: fences do not allow it even where no ID comes twice
	foreign    int64 // IDs of worker IDs that were not to be had
}

type run struct {
	process int // that the first of its IDs came from
	shared  bool
	twice   bool     // an ID of it has come twice
	left    int      // IDs that have not come
	seen    []uint64 // a bit for each sequence; nil: all have come
}

const mostFindings = 10

func newCounter(alloc *bitsalloc.Allocator, workers int) *counter {
	return &counter{alloc: alloc, workers: int64(workers), runs: make(map[int64]*run), byWorker: make([]int64, workers)}
}

// follow counts the IDs of a process until the process ends. It ignores a truncated last ID of a
// killed process.
func (c *counter) follow(process int, r io.Reader) {
	const size = 8
	buffer := make([]byte, 64<<10)
	ids := make([]int64, 0, len(buffer)/size)
	for kept := 0; ; {
		n, err := r.Read(buffer[kept:])
		kept += n
		whole := kept / size * size
		ids = ids[:0]
		for word := range slices.Chunk(buffer[:whole], size) {
			ids = append(ids, int64(binary.LittleEndian.Uint64(word)))
		}
		c.add(process, ids)
		if err != nil {
			return
		}
		kept = copy(buffer, buffer[whole:kept])
	}
}

// add counts IDs that came from a process.
func (c *counter) add(process int, ids []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sequenceBits := c.alloc.Layout().SequenceBits
	key, current := int64(-1), (*run)(nil)
	for _, id := range ids {
		if current == nil || id>>sequenceBits != key {
			key = id >> sequenceBits
			current = c.enter(process, id, key)
		}
		c.mark(process, id, current)
	}
}

// enter returns the run of an ID.
func (c *counter) enter(process int, id, key int64) *run {
	r := c.runs[key]
	if r == nil {
		size := 1 << c.alloc.Layout().SequenceBits
		r = &run{process: process, left: size, seen: make([]uint64, (size+63)/64)}
		c.runs[key] = r
	}
	if r.process != process && !r.shared {
		r.shared = true
		c.tally.shared++
		c.find("process %d has IDs of a run of process %d: %s", process, r.process, c.describe(id))
	}
	return r
}

func (c *counter) mark(process int, id int64, r *run) {
	worker := id >> c.alloc.Layout().SequenceBits & (1<<c.alloc.Layout().WorkerBits - 1)
	if worker >= c.workers {
		c.tally.foreign++
		c.find("process %d has a worker ID that nobody may have: %s", process, c.describe(id))
		return
	}
	sequence := id & (1<<c.alloc.Layout().SequenceBits - 1)
	word, bit := sequence/64, uint64(1)<<(sequence%64)
	if r.seen == nil || r.seen[word]&bit != 0 {
		c.tally.duplicates++
		if !r.twice {
			r.twice = true
			c.find("process %d has an ID that came before; the first of its run came from process %d: %s", process, r.process, c.describe(id))
		}
		return
	}
	r.seen[word] |= bit
	c.tally.ids++
	c.byWorker[worker]++
	if r.left--; r.left == 0 {
		r.seen = nil
	}
}

func (c *counter) find(format string, args ...any) {
	if len(c.findings) < mostFindings {
		c.findings = append(c.findings, fmt.Sprintf(format, args...))
	}
}

func (c *counter) describe(id int64) string {
	fields, err := c.alloc.Parse(id)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("worker %d, delta %d, sequence %d", fields.WorkerID, fields.Delta, fields.Sequence)
}

// totals returns the result so far.
func (c *counter) totals() (tally, []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tally, slices.Clone(c.findings)
}

// perWorker returns how many IDs of each worker ID have come.
func (c *counter) perWorker() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.byWorker)
}
