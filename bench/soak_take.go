package main

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync/atomic"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/defaultgen"
)

// A consumer takes IDs for one goroutine.
type consumer struct {
	take func(s *stream) (int, error) // some IDs, counted by s; returns how many
	end  func()                       // nil: nothing to do
}

// countNext takes IDs one by one.
func countNext(next func() (int64, error)) consumer {
	ids := make([]int64, 0, stride)
	return consumer{take: func(s *stream) (int, error) { return countInto(ids, next, s) }}
}

// countInto takes as many IDs as there is room for in ids, or until there is none.
func countInto(ids []int64, next func() (int64, error), s *stream) (int, error) {
	for len(ids) < cap(ids) {
		id, err := next()
		if err != nil {
			return len(ids), errors.Join(s.record(ids), again(err))
		}
		ids = append(ids, id)
	}
	return len(ids), s.record(ids)
}

// countFill takes IDs with Fill.
func countFill(fill func(dst []int64) (int, error)) consumer {
	dst := make([]int64, 256)
	return consumer{take: func(s *stream) (int, error) {
		n, err := fill(dst)
		return n, errors.Join(s.record(dst[:n]), again(err))
	}}
}

// countRanges takes IDs with Reserve, of all sizes up to more than two runs of the default layout.
func countRanges(reserve func(n int) (first int64, got int, err error), i int) consumer {
	random := rand.New(rand.NewPCG(4, uint64(i)))
	return consumer{take: func(s *stream) (int, error) {
		first, n, err := reserve(1 + random.IntN(20_000))
		if err != nil {
			return 0, again(err)
		}
		return n, s.recordRange(first, n)
	}}
}

// again is retry for both kinds of generators.
func again(err error) error {
	if errors.Is(err, defaultgen.ErrSequenceExhausted) {
		runtime.Gosched()
		return nil
	}
	return retry(err)
}

// A subject is a generator that is put to the test.
type subject struct {
	alloc    *bitsalloc.Allocator
	holder   func() int64          // its worker ID
	first    func() (int64, error) // takes the ID that the count begins with
	consumer func(goroutine int) consumer
	close    func() (ledger, error) // says what became of the IDs
}

// A ledger says what became of the IDs that were put into a ring, as the generator sees it.
type ledger struct {
	Put       int64 `json:"put"` // counted in Trace.Padded
	Issued    int64 `json:"issued"`
	Retired   int64 `json:"retired"`
	Remaining int64 `json:"remaining"`

	Rejected      int64 `json:"rejected"` // takes
	InlinePads    int64 `json:"inlinePads"`
	PaddingPasses int64 `json:"paddingPasses"`
}

// newSubject makes a generator of package cached.
func newSubject(cfg cached.Config, use useFunc) (*subject, error) {
	var blocks atomic.Int64
	cfg.Trace.Padded = func(info cached.PaddedInfo) { blocks.Add(int64(info.Blocks)) }
	alloc, err := bitsalloc.New(cfg.Layout, cfg.Epoch)
	if err != nil {
		return nil, err
	}
	gen, err := cached.New(cfg)
	if err != nil {
		return nil, err
	}
	return &subject{
		alloc:    alloc,
		holder:   gen.WorkerID,
		first:    gen.Next,
		consumer: func(goroutine int) consumer { return use(gen, goroutine) },
		close: func() (ledger, error) {
			// Afterwards no padding pass is under way, which may not yet have been reported.
			err := gen.Close()
			s := gen.Stats()
			return ledger{
				Put:           blocks.Load() << cfg.Layout.SequenceBits,
				Issued:        s.Issued,
				Retired:       s.Retired,
				Remaining:     int64(s.Remaining + s.Retiring),
				Rejected:      s.RejectedTakes,
				InlinePads:    s.InlinePads,
				PaddingPasses: s.PaddingPasses,
			}, err
		},
	}, nil
}

// newClockSubject makes a generator of package defaultgen. It has no ring and keeps no count.
func newClockSubject(cfg defaultgen.Config, use func(*defaultgen.Generator) consumer) (*subject, error) {
	alloc, err := bitsalloc.New(cfg.Layout, cfg.Epoch)
	if err != nil {
		return nil, err
	}
	gen, err := defaultgen.New(cfg)
	if err != nil {
		return nil, err
	}
	return &subject{
		alloc:    alloc,
		holder:   gen.WorkerID,
		first:    gen.Next,
		consumer: func(int) consumer { return use(gen) },
		close: func() (ledger, error) {
			err := gen.Close()
			return ledger{Rejected: gen.Stats().RejectedTakes}, err
		},
	}, nil
}
