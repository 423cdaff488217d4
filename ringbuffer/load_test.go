package ringbuffer_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
)

// A load puts a ring under one producer and many takers, and records the IDs taken.
type load struct {
	first   int64 // ID the first block begins at
	largest int64 // block: they have one to that many IDs
	ids     int   // to put, at least
	put     func(first, last int64) bool
	takers  []take
	retire  func(last int64) // called by the producer now and then, unless nil
	leave   bool             // takers stop with the producer, even if the ring has IDs left
	seed    uint64

	done   atomic.Bool  // nothing will be put any more
	newest atomic.Int64 // largest ID returned
	blocks []span       // put
	taken  []stream
}

// A span is a block as it was put.
type span struct{ first, last int64 }

// A take appends the IDs it got to ids.
type take func(ids []int64) []int64

// A stream is the record of one taker.
type stream struct {
	ids       []int64
	backwards int // not above an ID that the same taker got before
	overtaken int // takes that returned an ID not above an ID that had been returned before they began
}

// run applies the load with that many processors.
func (l *load) run(procs int) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	var group sync.WaitGroup
	begin := make(chan struct{})
	l.taken = make([]stream, len(l.takers))
	group.Go(func() {
		<-begin
		l.produce()
		l.done.Store(true)
	})
	for i, take := range l.takers {
		group.Go(func() {
			<-begin
			l.taken[i] = l.consume(take)
		})
	}
	close(begin)
	group.Wait()
}

// takeRest empties the ring after run and returns how many IDs were left.
func (l *load) takeRest() int {
	l.leave = false
	rest := l.consume(l.takers[0])
	l.taken = append(l.taken, rest)
	return len(rest.ids)
}

// produce puts blocks of all lengths. Now and then it leaves IDs out, at most as many as it puts:
// so does a new worker ID, or time that has moved on.
func (l *load) produce() {
	rng := rand.New(rand.NewPCG(l.seed, 0))
	next, put, spare := l.first, int64(0), int64(l.ids)
	for put < int64(l.ids) {
		if l.retire != nil && rng.IntN(16) == 0 {
			l.retire(next - 1 - rng.Int64N(4*l.largest))
		}
		if spare >= l.largest && rng.IntN(8) == 0 {
			gap := 1 + rng.Int64N(l.largest)
			next += gap
			spare -= gap
		}
		last := next + rng.Int64N(l.largest)
		for !l.put(next, last) {
			runtime.Gosched()
		}
		l.blocks = append(l.blocks, span{next, last})
		put += last - next + 1
		next = last + 1
	}
}

// consume takes until there is nothing left to come, or just until the producer is done.
func (l *load) consume(take take) stream {
	var s stream
	last := int64(0)
	for {
		done := l.done.Load()
		if done && l.leave {
			return s
		}
		floor, had := l.newest.Load(), len(s.ids)
		ids := take(s.ids)
		s.ids = ids
		switch {
		case len(ids) == had && done:
			return s
		case len(ids) == had:
			runtime.Gosched()
			continue
		}
		if ids[had] <= floor {
			s.overtaken++
		}
		for _, id := range ids[had:] {
			if id <= last {
				s.backwards++
			}
			last = id
		}
		raise(&l.newest, last)
	}
}

func raise(newest *atomic.Int64, id int64) {
	for {
		old := newest.Load()
		if id <= old || newest.CompareAndSwap(old, id) {
			return
		}
	}
}

// A wrong counts the errors that no ring may make.
type wrong struct {
	repeated  int // IDs returned a second time, a third time, …
	unknown   int // IDs returned that were never put
	backwards int
	overtaken int
}

// count looks every ID up in a table of all that may have been put. It returns how many IDs were
// put, and how many of those have not been returned.
func (l *load) count() (w wrong, put, missing int) {
	const absent, waiting, issued = 0, 1, 2
	state := make([]byte, l.blocks[len(l.blocks)-1].last-l.first+1)
	for _, b := range l.blocks {
		for id := b.first; id <= b.last; id++ {
			state[id-l.first] = waiting
			put++
		}
	}
	missing = put
	for _, s := range l.taken {
		w.backwards += s.backwards
		w.overtaken += s.overtaken
		for _, id := range s.ids {
			i := id - l.first
			switch {
			case i < 0 || i >= int64(len(state)) || state[i] == absent:
				w.unknown++
			case state[i] == issued:
				w.repeated++
			default:
				state[i] = issued
				missing--
			}
		}
	}
	return w, put, missing
}
