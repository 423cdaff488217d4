package main

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// set marks one number and reports whether it was marked before.
func (b *bitmap) set(t *testing.T, number uint64) bool {
	t.Helper()
	c, err := b.chunk(number >> chunkBits)
	if err != nil {
		t.Fatal(err)
	}
	return b.mark(c, int(number>>6%(fullChunk/64)), 1<<(number&63)) != 0
}

func TestBitmapAgreesWithASet(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	b, model := newBitmap(), map[uint64]bool{}
	for range 200_000 {
		n := random.Uint64N(100_000) * 37 // many twice, several chunks
		if twice := b.set(t, n); twice != model[n] {
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
		c, err := b.chunk(word << 6 >> chunkBits)
		if err != nil {
			t.Fatal(err)
		}
		if twice := b.mark(c, int(word%(fullChunk/64)), ^uint64(0)); twice != 0 {
			t.Fatalf("word %d: %x marked before", word, twice)
		}
	}
	if b.live != 0 || b.peakBytes() != chunkBytes || b.count() != chunks*fullChunk {
		t.Errorf("%d chunks live, peak %d bytes, count %d", b.live, b.peakBytes(), b.count())
	}
	if !b.set(t, 0) || !b.set(t, chunks*fullChunk-1) {
		t.Error("a number of a full chunk passed for a new one")
	}
	if b.set(t, chunks*fullChunk) {
		t.Error("the first number after the full chunks passed for an old one")
	}
}

func TestBitmapRefusesToGrowWithoutBound(t *testing.T) {
	b := newBitmap()
	b.live = maxChunks - 1
	if _, err := b.chunk(7); err != nil {
		t.Fatal(err)
	}
	if _, err := b.chunk(7); err != nil {
		t.Errorf("a chunk that is there: %v", err)
	}
	if _, err := b.chunk(8); err == nil {
		t.Error("one chunk too many was given")
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
				c, err := b.chunk(word << 6 >> chunkBits)
				if err != nil {
					t.Error(err)
					return
				}
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
