package ringbuffer_test

import (
	"fmt"

	"github.com/uidring/uidring/ringbuffer"
)

func Example() {
	// Four slots for runs of 8 IDs, refilled by whoever uses one up.
	next := int64(8)
	var ring *ringbuffer.Ring
	fill := func(int) {
		for ring.Put(next) {
			next += 8
		}
	}
	ring, err := ringbuffer.New(4, 3, fill)
	if err != nil {
		fmt.Println(err)
		return
	}
	fill(0)

	id, ok := ring.Take()
	fmt.Println(id, ok)
	batch := make([]int64, 10)
	fmt.Println(batch[:ring.TakeN(batch)])
	fmt.Println(ring.Len(), "of", ring.Cap(), "left")
	// Output:
	// 8 true
	// [9 10 11 12 13 14 15 16 17 18]
	// 29 of 32 left
}

func ExampleRing_TakeRun() {
	ring, err := ringbuffer.New(2, 3, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	ring.Put(8)
	ring.Put(64)
	ring.Take()

	for first, n, ok := ring.TakeRun(); ok; first, n, ok = ring.TakeRun() {
		fmt.Println(n, "IDs from", first)
	}
	// Output:
	// 7 IDs from 9
	// 8 IDs from 64
}

func ExampleRing_Retire() {
	ring, err := ringbuffer.New(4, 3, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for first := int64(8); first <= 32; first += 8 {
		ring.Put(first)
	}
	ring.Take()

	fmt.Println(ring.Retire(24), "retired")
	id, _ := ring.Take()
	fmt.Println(id)
	fmt.Printf("%+v\n", ring.Counts())
	// Output:
	// 15 retired
	// 24
	// {Put:32 Issued:2 Dropped:0 Retired:15 Remaining:15}
}

// The producer learns at hand-over how much is left, once per run.
func ExampleNew() {
	const padBelow = 16
	ring, err := ringbuffer.New(4, 3, func(left int) {
		if left < padBelow {
			fmt.Println(left, "left: wake the producer")
		}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for first := int64(8); first <= 32; first += 8 {
		ring.Put(first)
	}
	for range 25 {
		ring.Take()
	}
	_, err = ringbuffer.New(3, 3, nil)
	fmt.Println(err)
	// Output:
	// 8 left: wake the producer
	// ringbuffer: invalid size: 3 slots, allowed: a power of two, 2 or more
}
