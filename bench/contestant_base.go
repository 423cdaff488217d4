package main

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/uidring/uidring/internal/original"
)

// nameAtomicAdd is the contestant that all ratios refer to.
const nameAtomicAdd = "atomic add"

// baselines returns parts that one might build a generator from, and the ring of the original.
func baselines() []contestant {
	return []contestant{
		{name: nameAtomicAdd, order: increasing, note: "one shared word", open: openAtomicAdd},
		{name: "mutex and counter", order: increasing, open: openMutexCounter},
		{name: "time.Now", note: "the clock alone", open: openTimeNow},
		{name: "buffered channel", order: increasing, note: "one goroutine sends, 1,024 places", open: openChannel},
		{name: "xsync MPMC queue", order: increasing, note: "put and take", open: openQueue},
		{name: "the original's ring", bits: 63, order: increasing, note: "ported; may return an ID twice", open: openOriginal},
	}
}

func openAtomicAdd(context.Context, int64) (source, error) {
	word := new(lonely[atomic.Uint64])
	return shared(func(n int) (last int64, err error) {
		for range n {
			last = int64(word.value.Add(1))
		}
		return last, nil
	}, nothing), nil
}

func openMutexCounter(context.Context, int64) (source, error) {
	c := new(lonely[struct {
		sync.Mutex
		n uint64
	}])
	return shared(func(n int) (last int64, err error) {
		for range n {
			c.value.Lock()
			c.value.n++
			last = int64(c.value.n)
			c.value.Unlock()
		}
		return last, nil
	}, nothing), nil
}

func openTimeNow(context.Context, int64) (source, error) {
	return shared(func(n int) (last int64, err error) {
		for range n {
			last = time.Now().UnixNano()
		}
		return last, nil
	}, nothing), nil
}

func openChannel(context.Context, int64) (source, error) {
	numbers := make(chan int64, 1024)
	var stop atomic.Bool
	go func() {
		defer close(numbers)
		for number := int64(0); !stop.Load(); {
			for range stride {
				number++
				numbers <- number
			}
		}
	}()
	end := func() error {
		stop.Store(true)
		for range numbers { // the sender looks at stop when it gets through
		}
		return nil
	}
	return shared(func(n int) (last int64, err error) {
		for range n {
			last = <-numbers
		}
		return last, nil
	}, end), nil
}

func openQueue(context.Context, int64) (source, error) {
	q := xsync.NewMPMCQueue[int64](1024)
	return shared(func(n int) (last int64, err error) {
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
	}, nothing), nil
}

// openOriginal takes from the original's ring. A take that is refused is made again.
func openOriginal(context.Context, int64) (source, error) {
	p := startOriginal()
	return shared(func(n int) (last int64, err error) {
		for range n {
			for last, err = p.ring.Take(); err != nil; last, err = p.ring.Take() {
				if !errors.Is(err, original.ErrEmpty) && !errors.Is(err, original.ErrNotReady) {
					return 0, err
				}
				runtime.Gosched()
			}
		}
		return last, nil
	}, p.close), nil
}

// An originalPadder fills the original's ring as the original does by default: 65,536 slots, and below half of them a
// thread puts whole seconds of 8,192 IDs until one does not fit.
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
