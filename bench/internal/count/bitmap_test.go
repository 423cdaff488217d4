package count

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// set marks one number and reports whether it was marked before.
func (b *bitmap) set(number uint64) bool {
	return b.mark(b.chunk(number>>chunkBits), int(number>>6%(fullChunk/64)), 1<<(number&63)) != 0
}

func TestBitmapAgreesWithASet(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	b, model := newBitmap(), map[uint64]bool{}
	for range 200_000 {
		n := random.Uint64N(100_000) * 37 // many twice, several chunks
		if twice := b.set(n); twice != model[n] {
			t.Fatalf("number %d: marked before: %v, want %v", n, twice, model[n])
		}
		model[n] = true
	}
	if b.count() != int64(len(model)) {
		t.Errorf("count %d, want %d", b.count(), len(model))
	}
}

func TestBitmapGivesTheMemoryOfFullChunksBackAndKeepsTheirCount(t *testing.T) {
	const chunks = 8
	b := newBitmap()
	for word := range uint64(chunks * fullChunk / 64) {
		if twice := b.mark(b.chunk(word<<6>>chunkBits), int(word%(fullChunk/64)), ^uint64(0)); twice != 0 {
			t.Fatalf("word %d: %x marked before", word, twice)
		}
	}
	if b.live != 0 || b.peakBytes() != ChunkBytes || b.count() != chunks*fullChunk {
		t.Errorf("%d chunks live, peak %d bytes, count %d", b.live, b.peakBytes(), b.count())
	}
	if !b.set(0) || !b.set(chunks*fullChunk-1) {
		t.Error("a number of a full chunk passed for a new one")
	}
	if b.set(chunks * fullChunk) {
		t.Error("the first number after the full chunks passed for an old one")
	}
}

func TestBitmapThatMayNotGrowClosesItsOldestChunk(t *testing.T) {
	b := newBitmap()
	b.live = maxChunks - 2
	for _, number := range []uint64{9 << chunkBits, 7 << chunkBits, 8 << chunkBits, 8<<chunkBits + 1} {
		if b.set(number) {
			t.Errorf("number %d passed for an old one", number)
		}
	}
	if b.live != maxChunks || b.peak != maxChunks || b.count() != 4 {
		t.Errorf("%d chunks live, at most %d, count %d; want %d and 4", b.live, b.peak, b.count(), maxChunks)
	}
	closed, open := b.chunk(7), b.chunk(8)
	if closed.words.Load() != nil || closed.full() || open.words.Load() == nil {
		t.Error("another chunk than the oldest was closed")
	}
	if !b.set(7<<chunkBits+5) || b.count() != 4 {
		t.Error("a number of the closed chunk passed for a new one")
	}
	if b.set(8<<chunkBits + 2) {
		t.Error("a number of an open chunk passed for an old one")
	}
}

// Each number is offered by two goroutines, in different orders; one of the two has to hear of it.
func TestBitmapCountsOnceWhatTwoGoroutinesMark(t *testing.T) {
	const n = 2 * fullChunk
	b := newBitmap()
	var wg sync.WaitGroup
	twice := make([]int64, 2)
	for i := range twice {
		wg.Go(func() {
			for k := range uint64(n / 64) {
				word := (k*4097 + uint64(i)*n/128) % (n / 64)
				c := b.chunk(word << 6 >> chunkBits)
				for half := range 2 {
					mask := uint64(0xffffffff) << (32 * half)
					if old := b.mark(c, int(word%(fullChunk/64)), mask); old == mask {
						twice[i]++
					} else if old != 0 {
						t.Errorf("word %d: part %x of a mask was marked before", word, old)
					}
				}
			}
		})
	}
	wg.Wait()
	if sum := twice[0] + twice[1]; sum != n/32 || b.count() != n || b.live != 0 {
		t.Errorf("%d masks marked twice, want %d; count %d, want %d; %d chunks live", sum, n/32, b.count(), n, b.live)
	}
}
