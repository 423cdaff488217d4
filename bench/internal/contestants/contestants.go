// Package contestants lists the generators that bench compares: the generators of this library,
// other libraries, and baselines.
package contestants

import (
	"context"

	"github.com/uidring/uidring/internal/test/gauge"
)

// The kinds of contestants.
const (
	Own       = "this library"
	Others    = "other libraries"
	Baselines = "baselines"
)

// Kinds are the kinds in the order of the tables.
var Kinds = []string{Own, Others, Baselines}

const (
	increasing = "increasing"
	randomBits = "random bits"
	// How far the time in an ID runs ahead of the clock when IDs are taken faster than the
	// format has them.
	Waits          = "none, waits"
	aheadUnbounded = "unbounded"
)

// A Contestant is one line of the comparison.
type Contestant struct {
	Name, Kind string
	Bits       int    // of an ID; 0: it issues none
	Order      string // of the IDs of one process
	Worker     string // how two processes are kept apart
	Ahead      string // how far the time in an ID runs ahead of the clock
	Note       string
	PerSecond  float64 // the most IDs that the format allows; 0: more than a lap can take
	Crowd      bool    // also measured on many goroutines
	Rate       *Rate   // nil: another option of a library, or a baseline

	// Open starts a lap; worker is a number that no other lap has. nil: laps are too short to
	// show the cap.
	Open func(ctx context.Context, worker int64) (gauge.Source, error)
}

// A Rate is the number of IDs a second that one generator can keep up for ever: the time in its IDs
// does not run away from the clock. 0: the format does not bound it.
type Rate struct {
	Name    string // of the generator
	Default int64  // of its default format
	// Comparable is of its widest format with 63 bits, 4,096 worker IDs, 60 years and a unit
	// that divides a second.
	Comparable int64
}

// All returns the contestants in the order of the tables.
func All() (all []Contestant) {
	for i, list := range [][]Contestant{ownGenerators(), otherLibraries(), baselines()} {
		for _, c := range list {
			c.Kind = Kinds[i]
			c.Crowd = c.Crowd || c.Kind == Baselines
			all = append(all, c)
		}
	}
	return all
}

// opened opens a source that needs no worker ID and cannot fail.
func opened(source func() gauge.Source) func(context.Context, int64) (gauge.Source, error) {
	return func(context.Context, int64) (gauge.Source, error) { return source(), nil }
}

// Started makes a generator with start, and opens its source.
func Started[G any](start func(ctx context.Context, worker int64) (G, error), source func(G) gauge.Source) func(context.Context, int64) (gauge.Source, error) {
	return func(ctx context.Context, worker int64) (gauge.Source, error) {
		g, err := start(ctx, worker)
		if err != nil {
			return gauge.Source{}, err
		}
		return source(g), nil
	}
}
