package main

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
)

// The calls whose tails are compared. What the first two show is not the library's: what any program sees that looks
// at the clock twice in this place, and what one sees that calls a func between.
const (
	callClock = "the clock alone"
	callEmpty = "an empty call"
	callAdd   = "atomic add"
	callNext  = "Next, ordered"
	callLanes = "Next, lanes"
)

// A tailCall is something that is timed.
type tailCall struct {
	name string
	call func() (int64, error) // nil: the clock alone
}

// A tailBench holds the calls that are timed, and what they need.
type tailBench struct {
	calls []tailCall
	gens  []*cached.Generator
}

// openTail makes the generators. They have the default settings, and worker IDs from the given one on.
func openTail(worker int64) (b *tailBench, err error) {
	n := new(lonely[atomic.Int64])
	b = &tailBench{calls: []tailCall{
		{callClock, nil},
		{callEmpty, func() (int64, error) { return 0, nil }},
		{callAdd, func() (int64, error) { return n.value.Add(1), nil }},
	}}
	for i, lanes := range []int{1, cached.LanePerCPU} {
		gen, err := cached.New(cached.Config{
			Epoch:      time.Now().Truncate(24 * time.Hour), // the layout lasts
			Assigner:   assigner.Static(worker + int64(i)),
			AllowReuse: true, // nobody keeps the IDs
			Lanes:      lanes,
		})
		if err != nil {
			return nil, errors.Join(err, b.close())
		}
		b.gens = append(b.gens, gen)
		b.calls = append(b.calls, tailCall{[]string{callNext, callLanes}[i], gen.Next})
	}
	return b, nil
}

func (b *tailBench) close() (err error) {
	for _, gen := range b.gens {
		err = errors.Join(err, gen.Close())
	}
	return err
}
