package contestants

import (
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/test/gauge"
	"github.com/uidring/uidring/internal/test/original"
)

// The names of baselines. The ratios of the tables refer to AtomicAdd, measured in the same rounds.
const (
	AtomicAdd    = "atomic add"
	CalledAdd    = "atomic add, called"
	FilledSlice  = "plain loop over 256"
	MutexCounter = "mutex and counter"
)

// baselines returns floors, parts of a generator by themselves, and the ring of the original.
func baselines() []Contestant {
	return []Contestant{
		{Name: AtomicAdd, Order: increasing, Note: "one shared word", Open: opened(gauge.AtomicAdd)},
		{Name: CalledAdd, Order: increasing, Note: "not inlined", Open: opened(gauge.CalledAdd)},
		{Name: FilledSlice, Note: "fills a slice", Open: opened(gauge.FilledSlice)},
		{Name: MutexCounter, Order: increasing, Open: opened(gauge.MutexCounter)},
		{Name: "time.Now", Note: "the clock alone", Open: opened(timeNow)},
		{Name: "the original's ring", Bits: 63, Order: increasing, Note: "ported; may return an ID twice", Open: opened(originalRing)},
	}
}

func timeNow() gauge.Source {
	return gauge.Shared(gauge.Each(func() (int64, error) { return time.Now().UnixNano(), nil }), gauge.Nothing)
}

// originalRing takes from the original's ring, and retries rejected takes.
func originalRing() gauge.Source {
	p := startOriginal()
	return gauge.Shared(func(n int) (last int64, err error) {
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
	p.ring = original.New(slots, slots/2, func() { generator.Signal(p.wake) })
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
