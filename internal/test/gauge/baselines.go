package gauge

import (
	"sync"
	"sync/atomic"
)

// padded keeps a contended word away from other words.
type padded[T any] struct {
	_     [64]byte
	Value T
	_     [64]byte
}

// AtomicAdd counts with one shared word: the least that a single ordered stream of numbers costs.
func AtomicAdd() Source {
	word := new(padded[atomic.Uint64])
	return Shared(func(n int) (last int64, err error) {
		for range n {
			last = int64(word.Value.Add(1))
		}
		return last, nil
	}, Nothing)
}

// CalledAdd is AtomicAdd through a call for each number: the least that a method of a generator
// costs, unless the compiler inlines the method.
func CalledAdd() Source {
	word := new(padded[atomic.Uint64])
	return Shared(func(n int) (last int64, err error) {
		for range n {
			last = add(&word.Value)
		}
		return last, nil
	}, Nothing)
}

//go:noinline
func add(word *atomic.Uint64) int64 { return int64(word.Add(1)) }

// MutexCounter counts under a mutex: the obvious generator.
func MutexCounter() Source {
	c := new(padded[struct {
		sync.Mutex
		n uint64
	}])
	return Shared(func(n int) (last int64, err error) {
		for range n {
			c.Value.Lock()
			c.Value.n++
			last = int64(c.Value.n)
			c.Value.Unlock()
		}
		return last, nil
	}, Nothing)
}

// FilledSlice writes consecutive numbers into a slice of Stride in a plain loop: the obvious way to
// fill one. Each goroutine has numbers of its own.
func FilledSlice() Source {
	return Source{Join: func() Taker {
		dst, last := make([]int64, Stride), int64(0)
		return func(n int) (int64, error) {
			for ; n > 0; n -= Stride {
				last = write(dst[:min(n, Stride)], last)
			}
			return last, nil
		}
	}, Close: Nothing}
}

//go:noinline
func write(dst []int64, last int64) int64 {
	for i := range dst {
		last++
		dst[i] = last
	}
	return last
}
