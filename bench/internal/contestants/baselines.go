package contestants

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/uidring/uidring/bench/internal/load"
	"github.com/uidring/uidring/internal/original"
)

// AtomicAddName names the contestant that all ratios refer to.
const AtomicAddName = "atomic add"

// baselines returns parts of a generator by themselves, and the ring of the original.
func baselines() []Contestant {
	return []Contestant{
		{Name: AtomicAddName, Order: increasing, Note: "one shared word", Open: opened(AtomicAdd)},
		{Name: "mutex and counter", Order: increasing, Open: opened(MutexCounter)},
		{Name: "time.Now", Note: "the clock alone", Open: opened(timeNow)},
		{Name: "buffered channel", Order: increasing, Note: "one goroutine sends, 1,024 places", Open: opened(channel)},
		{Name: "xsync MPMC queue", Order: increasing, Note: "put and take", Open: opened(queue)},
		{Name: "the original's ring", Bits: 63, Order: increasing, Note: "ported; may return an ID twice", Open: opened(originalRing)},
	}
}

// opened opens a source that needs no worker ID and cannot fail.
func opened(source func() load.Source) func(context.Context, int64) (load.Source, error) {
	return func(context.Context, int64) (load.Source, error) { return source(), nil }
}

// padded keeps a contended word away from other words.
type padded[T any] struct {
	_     [64]byte
	Value T
	_     [64]byte
}

// AtomicAdd counts with one shared word: the least that a single ordered stream of numbers costs.
// All ratios of this program are to this func, measured in the same rounds.
func AtomicAdd() load.Source {
	word := new(padded[atomic.Uint64])
	return load.Shared(func(n int) (last int64, err error) {
		for range n {
			last = int64(word.Value.Add(1))
		}
		return last, nil
	}, load.Close)
}

// MutexCounter counts under a mutex: the obvious generator.
func MutexCounter() load.Source {
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
	}, load.Close)
}

func timeNow() load.Source {
	return load.Shared(func(n int) (last int64, err error) {
		for range n {
			last = time.Now().UnixNano()
		}
		return last, nil
	}, load.Close)
}

func channel() load.Source {
	numbers := make(chan int64, 1024)
	var stop atomic.Bool
	go func() {
		defer close(numbers)
		for number := int64(0); !stop.Load(); {
			for range load.Stride {
				number++
				numbers <- number
			}
		}
	}()
	end := func() error {
		stop.Store(true)
		for range numbers { // unblocks the sender, which then sees stop
		}
		return nil
	}
	return load.Shared(func(n int) (last int64, err error) {
		for range n {
			last = <-numbers
		}
		return last, nil
	}, end)
}

func queue() load.Source {
	q := xsync.NewMPMCQueue[int64](1024)
	return load.Shared(func(n int) (last int64, err error) {
		for i := range n {
			for !q.TryEnqueue(int64(i)) {
				runtime.Gosched()
			}
			ok := false
			for last, ok = q.TryDequeue(); !ok; last, ok = q.TryDequeue() {
				runtime.Gosched()
			}
		}
		return last, nil
	}, load.Close)
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
	ring       *original.Ring
	next       int64 // the first ID of the next second
	wake, done chan struct{}
	thread     sync.WaitGroup
}

func startOriginal() *originalPadder {
	const slots = 1 << 16
	p := &originalPadder{wake: make(chan struct{}, 1), done: make(chan struct{})}
	p.ring = original.New(slots, slots/2, func() {
		select {
		case p.wake <- struct{}{}:
		default:
		}
	})
	p.pad()
	p.thread.Go(func() {
		for {
			select {
			case <-p.wake:
				p.pad()
			case <-p.done:
				return
			}
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
	close(p.done)
	p.thread.Wait()
	return nil
}
