// Package baseline has the benchmarks that the benchmarks of generators are compared with, in the
// same run.
package baseline

import (
	"sync"
	"sync/atomic"
	"testing"
)

// AtomicAdd adds to a word: the least that an ordered stream of numbers costs.
func AtomicAdd(b *testing.B) {
	n := new(atomic.Uint64)
	for b.Loop() {
		n.Add(1)
	}
}

// AtomicAddParallel is AtomicAdd on all CPUs.
func AtomicAddParallel(b *testing.B) {
	n := new(atomic.Uint64)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			n.Add(1)
		}
	})
}

type counter struct {
	sync.Mutex
	n uint64
}

func (c *counter) add() {
	c.Lock()
	c.n++
	c.Unlock()
}

// Mutex counts under a mutex: the obvious generator.
func Mutex(b *testing.B) {
	c := new(counter)
	for b.Loop() {
		c.add()
	}
}

// MutexParallel is Mutex on all CPUs.
func MutexParallel(b *testing.B) {
	c := new(counter)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c.add()
		}
	})
}
