// Package uidringtest helps to test programs that issue IDs. It is for tests alone.
//
// A [Generator] issues the same IDs in each run, and fails on request. It replaces a generator of
// packages cached, defaultgen and segment behind an interface that the program declares, such as
//
//	type ids interface{ NextContext(context.Context) (int64, error) }
//
// To test with a real generator, give it the worker ID of [Worker] and the time of a [Clock]:
//
//	clock := uidringtest.NewClock(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC))
//	g, err := defaultgen.New(defaultgen.Config{Assigner: uidringtest.Worker(7), Now: clock.Now})
//
// Such a generator issues the same IDs in each test, even if the clock of the test before went
// further: the process remembers the time of a worker ID of assigner.Static, and not of Worker. A
// generator of package cached reads the clock at its start, and then goes on by itself.
//
// The clock of package testing/synctest begins in 2000, before the epoch, and a generator refuses
// to start. Move the clock on first, and close the generator within the bubble:
//
//	synctest.Test(t, func(t *testing.T) {
//		time.Sleep(time.Until(bitsalloc.DefaultEpoch().Add(time.Hour))) // takes no real time
//		g, err := cached.New(cached.Config{Assigner: uidringtest.Worker(7)})
//		// …
//		defer g.Close()
//	})
package uidringtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/uidring/uidring"
)

var (
	// ErrClosed is returned by methods that are asked for IDs once Close has returned.
	ErrClosed = uidring.ErrClosed
	// ErrExhausted is returned when the next ID would not be from 1 to 2^63 - 1.
	ErrExhausted = errors.New("uidringtest: no IDs left")
)

// A Generator issues IDs a fixed step apart. Any number of goroutines may use it at once; then the
// order of calls decides who gets which ID. Make one with [New].
type Generator struct {
	mu     sync.Mutex
	next   int64
	step   int64
	closed bool
	broken error
	script []error // answers of the following calls; nil: succeed
}

// New returns a Generator of the IDs first, first+step, first+2*step and so on. A step below 0
// makes IDs fall, as across processes. [ErrExhausted] ends the sequence.
func New(first, step int64) *Generator { return &Generator{next: first, step: step} }

// Fail decides the following calls, one error for each: the call returns the error, or succeeds if
// it is nil. The calls after these succeed. A second Fail adds to the first.
//
// Give the errors that the program must handle, such as cached.ErrLeaseExhausted.
func (g *Generator) Fail(errs ...error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.script = append(g.script, errs...)
}

// Break makes all calls for IDs return err until Break(nil). These calls use up no error of Fail.
func (g *Generator) Break(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.broken = err
}

// Next returns the next ID.
func (g *Generator) Next() (int64, error) {
	id, _, err := g.take(1)
	return id, err
}

// NextContext is Next: it never waits, and returns an ID even if ctx has ended.
func (g *Generator) NextContext(context.Context) (int64, error) { return g.Next() }

// Fill fills dst with the next IDs and returns their number, as one call. If it gets fewer than
// len(dst) it also returns an error.
func (g *Generator) Fill(dst []int64) (int, error) {
	if len(dst) == 0 {
		return 0, nil
	}
	first, got, err := g.take(len(dst))
	for i := range got {
		dst[i] = first + int64(i)*g.step
	}
	if err == nil && got < len(dst) {
		err = ErrExhausted
	}
	return got, err
}

// FillContext is Fill.
func (g *Generator) FillContext(_ context.Context, dst []int64) (int, error) { return g.Fill(dst) }

// Reserve returns the next n consecutive IDs, from first to first+got-1. got is at most 1 unless
// the step is 1, and at most 2^20: package cached, too, stops at the end of a unit. For an n below
// 1 it returns zeros.
func (g *Generator) Reserve(n int) (first int64, got int, err error) {
	if n < 1 {
		return 0, 0, nil
	}
	if g.step != 1 {
		n = 1
	}
	return g.take(min(n, 1<<20))
}

// ReserveContext is Reserve.
func (g *Generator) ReserveContext(_ context.Context, n int) (first int64, got int, err error) {
	return g.Reserve(n)
}

// Close ends the generator: all calls for IDs return [ErrClosed] from then on. It returns nil.
func (g *Generator) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	return nil
}

// take takes up to n IDs, at least one, unless the call is to fail.
func (g *Generator) take(n int) (first int64, got int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return 0, 0, ErrClosed
	case g.broken != nil:
		return 0, 0, g.broken
	}
	if len(g.script) > 0 {
		err, g.script = g.script[0], g.script[1:]
	}
	switch {
	case err != nil:
		return 0, 0, err
	case g.next < 1:
		return 0, 0, fmt.Errorf("%w: the next would be %d, allowed: 1 to 2^63 - 1", ErrExhausted, g.next)
	}
	first = g.next
	for got < n && g.next > 0 {
		if g.step > 0 && g.next > math.MaxInt64-g.step {
			g.next = 0 // the sequence has ended
		} else {
			g.next += g.step
		}
		got++
	}
	return first, got, nil
}
