package chaos

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/test/idset"
)

// A counter counts every ID. Any number of goroutines may use it.
type counter struct {
	alloc *bitsalloc.Allocator

	mu       sync.Mutex
	seen     idset.Set
	blocks   map[int64]*block // by ID without its sequence
	tally    tally
	byWorker []int64  // IDs
	findings []string // the first few
}

// A tally is the result of a counter.
type tally struct {
	ids        int64 // without duplicates
	duplicates int64 // IDs that had arrived before
	shared     int64 // blocks with IDs of more than one process: fences do not allow it even where no ID comes twice
	foreign    int64 // IDs of worker IDs that were not to be had
}

// A block is the IDs of one worker ID and delta.
type block struct {
	process int // that the first of its IDs came from
	shared  bool
	twice   bool // an ID of it has come twice
}

const mostFindings = 10

func newCounter(alloc *bitsalloc.Allocator) *counter {
	return &counter{alloc: alloc, blocks: make(map[int64]*block), byWorker: make([]int64, workers)}
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
	key := func(id int64) int64 { return id >> c.alloc.Layout().SequenceBits }
	for len(ids) > 0 {
		first := key(ids[0])
		n := slices.IndexFunc(ids, func(id int64) bool { return key(id) != first })
		if n < 0 {
			n = len(ids)
		}
		c.addBlock(process, first, ids[:n])
		ids = ids[n:]
	}
}

// addBlock counts IDs of one block.
func (c *counter) addBlock(process int, key int64, ids []int64) {
	b := c.blocks[key]
	if b == nil {
		b = &block{process: process}
		c.blocks[key] = b
	}
	if b.process != process && !b.shared {
		b.shared = true
		c.tally.shared++
		c.find("process %d has IDs of a block of process %d: %s", process, b.process, c.describe(ids[0]))
	}
	worker := key & (1<<c.alloc.Layout().WorkerBits - 1)
	if worker >= workers {
		c.tally.foreign += int64(len(ids))
		c.find("process %d has a worker ID that is not offered: %s", process, c.describe(ids[0]))
		return
	}
	again := c.seen.Add(ids...)
	added := int64(len(ids) - len(again))
	c.tally.ids += added
	c.byWorker[worker] += added
	c.tally.duplicates += int64(len(again))
	if len(again) > 0 && !b.twice {
		b.twice = true
		c.find("process %d has an ID that came before; the first of its block came from process %d: %s", process, b.process, c.describe(again[0]))
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
