package ringbuffer_test

import (
	"fmt"

	"github.com/uidring/uidring/ringbuffer"
)

func Example() {
	// Four slots for blocks of 8 IDs, refilled by the caller that begins the next block.
	next := int64(8)
	var ring *ringbuffer.Ring
	fill := func(int) {
		for ring.Free() > 0 {
			ring.Put(next, next+7)
			next += 8
		}
	}
	ring, err := ringbuffer.New(4, fill)
	if err != nil {
		fmt.Println(err)
		return
	}
	fill(0)

	id, ok := ring.Take()
	fmt.Println(id, ok)
	first, n, ok := ring.TakeBlock(10) // fewer, since the block ends before
	fmt.Println(first, n, ok)
	fmt.Println(ring.Len(), "left")
	// Output:
	// 8 true
	// 9 7 true
	// 24 left
}

func ExampleRing_TakeBlock() {
	ring, err := ringbuffer.New(2, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	ring.Put(8, 15)
	ring.Put(64, 71)
	ring.Take()

	for first, n, ok := ring.TakeBlock(100); ok; first, n, ok = ring.TakeBlock(100) {
		fmt.Println(n, "IDs from", first)
	}
	// Output:
	// 7 IDs from 9
	// 8 IDs from 64
}

// The producer learns how many blocks are left, once per block.
func ExampleNew() {
	const padBelow = 2
	ring, err := ringbuffer.New(4, func(left int) {
		if left < padBelow {
			fmt.Println(left, "block left: wake the producer")
		}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for first := int64(8); first <= 32; first += 8 {
		ring.Put(first, first+7)
	}
	for range 25 {
		ring.Take()
	}
	_, err = ringbuffer.New(3, nil)
	fmt.Println(err)
	// Output:
	// 1 block left: wake the producer
	// ringbuffer: invalid size: 3 slots, allowed: a power of two from 2 to 16777216
}
