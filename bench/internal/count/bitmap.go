package count

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
)

const (
	chunkBits = 20 // a chunk counts 2^20 numbers
	// ChunkBytes is the memory of a chunk: 128 KiB.
	ChunkBytes = 1 << chunkBits >> 3
	maxChunks  = 2048 // at once: 256 MiB
	fullChunk  = 1 << chunkBits
)

// A bitmap counts numbers, each at most once. It allocates a chunk at the first number in it, and
// frees the memory of a full chunk, so that a stream without large gaps takes little memory. With
// gaps, it closes the oldest chunk before there are more than maxChunks: a closed chunk keeps its
// count and takes no more numbers. A bitmap is safe for concurrent use.
type bitmap struct {
	mu         sync.Mutex
	chunks     map[uint64]*chunk // by number >> chunkBits
	live, peak int               // chunks that hold memory: now, and the peak
}

type chunk struct {
	count atomic.Int64
	words atomic.Pointer[[fullChunk / 64]atomic.Uint64] // nil: all bits are set, or closed
}

// full reports whether c has all its numbers.
func (c *chunk) full() bool { return c.count.Load() == fullChunk }

func newBitmap() *bitmap { return &bitmap{chunks: make(map[uint64]*chunk)} }

// chunk returns the chunk with the given number, and creates it if necessary.
func (b *bitmap) chunk(number uint64) *chunk {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.chunks[number]
	if c != nil {
		return c
	}
	if b.live == maxChunks {
		b.closeOldest()
	}
	c = new(chunk)
	c.words.Store(new([fullChunk / 64]atomic.Uint64))
	b.chunks[number] = c
	b.live++
	b.peak = max(b.peak, b.live)
	return c
}

// closeOldest frees the memory of the chunk with the lowest number. The caller holds mu.
func (b *bitmap) closeOldest() {
	oldest, lowest := (*chunk)(nil), uint64(math.MaxUint64)
	for number, c := range b.chunks {
		if number <= lowest && c.words.Load() != nil {
			oldest, lowest = c, number
		}
	}
	if oldest != nil && oldest.words.Swap(nil) != nil { // it may have become full meanwhile
		b.live--
	}
}

// mark sets the bits of mask in a word of c, a chunk of b, and returns the bits that were set
// before. For a chunk without memory it returns all of mask.
func (b *bitmap) mark(c *chunk, word int, mask uint64) (twice uint64) {
	words := c.words.Load()
	if words == nil {
		return mask
	}
	twice = words[word].Or(mask) & mask
	fresh := int64(bits.OnesCount64(mask &^ twice))
	if fresh > 0 && c.count.Add(fresh) == fullChunk && c.words.Swap(nil) != nil {
		b.mu.Lock()
		b.live--
		b.mu.Unlock()
	}
	return twice
}

// count returns the number of numbers.
func (b *bitmap) count() (n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.chunks {
		n += c.count.Load()
	}
	return n
}

// peakBytes returns the peak memory of the bits.
func (b *bitmap) peakBytes() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return int64(b.peak) * ChunkBytes
}
