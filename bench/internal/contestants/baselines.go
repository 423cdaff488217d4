package contestants

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/bench/internal/load"
	"github.com/uidring/uidring/internal/test/original"
)

// The names of two baselines. All ratios refer to the atomic add.
const (
	AtomicAdd    = "atomic add"
	MutexCounter = "mutex and counter"
)

// baselines returns parts of a generator by themselves, and the ring of the original.
func baselines() []Contestant {
	return []Contestant{
		{Name: AtomicAdd, Order: increasing, Note: "one shared word", Open: opened(atomicAdd)},
		{Name: MutexCounter, Order: increasing, Open: opened(mutexCounter)},
		{Name: "time.Now", Note: "the clock alone", Open: opened(timeNow)},
		{Name: "the original's ring", Bits: 63, Order: increasing, Note: "ported; may return an ID twice", Open: opened(originalRing)},
	}
}

// padded keeps a contended word away from other words.
type padded[T any] struct {
	_     [64]byte
	Value T
	_     [64]byte
}

// atomicAdd counts with one shared word: the least that a single ordered stream of numbers costs.
// All ratios of this program are to this func, measured in the same rounds.
func atomicAdd() load.Source {
	word := new(padded[atomic.Uint64])
	return load.Shared(func(n int) (last int64, err error) {
		for range n {
			last = int64(word.Value.Add(1))
		}
		return last, nil
	}, nothing)
}

// mutexCounter counts under a mutex: the obvious generator.
func mutexCounter() load.Source {
	c := new(padded[struct {
		sync.Mutex
		n uint64
	}])
	return load.Shared(func(n int) (last int64, err error) {
		for range n {
			c.Value.Lock()
			c.Value.n++
			last = int64(c.Value.n)
			c.Value.Unlock()
		}
		return last, nil
	}, nothing)
}

func timeNow() load.Source {
	return load.Shared(load.Each(func() (int64, error) { return time.Now().UnixNano(), nil }), nothing)
}

// originalRing takes from the original's ring, and retries rejected takes.
func originalRing() load.Source {
	p := startOriginal()
	return load.Shared(func(n int) (last int64, err error) {
		for range n {
			for last, err = p.ring.Take(); err != nil; last, err = p.ring.Take() {
				if !errors.Is(err, original.ErrEmpty) && !errors.Is(err, original.ErrNotReady) {
					return 0, err
				}
				runtime.Gosched()
			}
		}
		return last, nil
	}, p.close)
}

// An originalPadder fills the original's ring with the original's defaults: 65,536 slots; below
// half of them a thread puts whole seconds of 8,192 IDs until one does not fit.
type originalPadder struct {
	ring   *original.Ring
	next   int64 // the first ID of the next second
	wake   chan struct{}
	thread sync.WaitGroup
}

func startOriginal() *originalPadder {
	const slots = 1 << 16
	p := &originalPadder{wake: make(chan struct{}, 1)}
	p.ring = original.New(slots, slots/2, func() {
		select {
		case p.wake <- struct{}{}:
		default:
		}
	})
	p.pad()
	p.thread.Go(func() {
		for range p.wake {
			p.pad()
		}
	})
	return p
}

func (p *originalPadder) pad() {
	const second = 1 << 13
	for full := false; !full; p.next += second {
		for sequence := int64(1); sequence <= second && !full; sequence++ {
			full = !p.ring.Put(p.next + sequence)
		}
	}
}

func (p *originalPadder) close() error {
	close(p.wake)
	p.thread.Wait()
	return nil
}
