package main

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// What else the program does while calls are timed.
const (
	pressureNone = "nothing else"
	pressureCPU  = "CPU load" // two goroutines for each CPU that only compute
	pressureGC   = "GC load"  // one goroutine that allocates without a pause
)

func pressureNames() []string { return []string{pressureNone, pressureCPU, pressureGC} }

// startPressure starts a kind of pressure; the func that it returns ends it.
func startPressure(name string) (end func()) {
	var stop atomic.Bool
	var group sync.WaitGroup
	switch name {
	case pressureCPU:
		for range 2 * runtime.GOMAXPROCS(0) {
			group.Go(func() { compute(&stop) })
		}
	case pressureGC:
		group.Go(func() { litter(&stop) })
	}
	return func() {
		stop.Store(true)
		group.Wait()
	}
}

// compute keeps a CPU busy and touches no memory that others use.
func compute(stop *atomic.Bool) (x uint64) {
	for x = 1; !stop.Load(); {
		for range 1 << 12 {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
	}
	return x
}

// litter allocates, and keeps a heap of some 32 MiB with pointers for the collector to follow.
func litter(stop *atomic.Bool) {
	type leaf [96]byte
	type node struct {
		child *leaf
		_     [24]byte
	}
	nodes := make([]*node, 1<<18)
	for i := 0; !stop.Load(); i++ {
		nodes[i&(len(nodes)-1)] = &node{child: new(leaf)}
	}
}

// collections counts the cycles of the garbage collector so far.
func collections() int64 {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.NumGC)
}
