package main

import "context"

// A taker takes n IDs for one goroutine, and returns something of the last, so that none of them can be optimized
// away. It is called once for many IDs, each contestant having a loop of its own: a call through a func
// for each would cost as much as the fastest of them.
type taker func(n int) (last int64, err error)

// A source is a generator, or what stands in for one, for the time of a lap.
type source struct {
	join  func() (take taker, leave func()) // for one goroutine
	close func() error
}

// shared is a source whose goroutines have nothing of their own.
func shared(take taker, close func() error) source {
	return source{func() (taker, func()) { return take, func() {} }, close}
}

func nothing() error { return nil }

// What contestants are.
const (
	kindOwn      = "this library"
	kindOther    = "other libraries"
	kindBaseline = "baselines"
)

// How far the time in an ID runs ahead of the clock when IDs are taken faster than the format has them.
const (
	aheadNone      = "none, waits"
	aheadUnbounded = "unbounded"
)

// A contestant is one line of the comparison.
type contestant struct {
	name, kind string
	bits       int     // of an ID; 0: it issues none
	order      string  // of the IDs of one process
	worker     string  // how two processes are kept apart
	ahead      string  // how far the time in an ID runs ahead of the clock
	note       string  // what else has to be known
	perSecond  float64 // the most IDs that the format allows; 0: more than can be issued
	crowd      bool    // also measured on many goroutines

	// open starts a lap; worker is a number that no other lap has. nil: laps are too short to show the cap.
	open func(ctx context.Context, worker int64) (source, error)
}

// contestants returns all there are, in the order of the tables.
func contestants() (all []contestant) {
	for _, c := range ownGenerators() {
		c.kind = kindOwn
		all = append(all, c)
	}
	for _, c := range otherLibraries() {
		c.kind = kindOther
		all = append(all, c)
	}
	for _, c := range baselines() {
		c.kind = kindBaseline
		c.crowd = true
		all = append(all, c)
	}
	return all
}
