package main

import (
	"fmt"
	"runtime"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
)

// generatorHeap returns what a generator of these settings holds on the heap. It makes some, and so finds
// out what is wrong with the settings before a worker ID is taken for them.
func generatorHeap(s settings) (held int64, err error) {
	worker := int64(1)<<s.layout.WorkerBits - 1 // far from where a database begins
	if worker == s.worker {
		worker /= 2 // the generator proper would start above these
	}
	for range 3 { // the first one pays for what all share
		before := liveHeap()
		g, err := cached.New(s.config(assigner.Static(worker)))
		if err != nil {
			return 0, &usageError{err}
		}
		held = max(0, liveHeap()-before)
		if err := g.Close(); err != nil {
			return 0, fmt.Errorf("generator not closed: %w", err)
		}
	}
	return held, nil
}

// liveHeap returns the bytes on the heap that are in use.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // frees what has been finalized
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// fromOS returns the bytes that the process has from the operating system.
func fromOS() int64 {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.Sys - s.HeapReleased)
}
