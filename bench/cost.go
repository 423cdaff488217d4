package main

import (
	"context"
	"errors"
	"io"
	"runtime"
	"time"

	"github.com/uidring/uidring/bench/internal/load"
	"github.com/uidring/uidring/bench/internal/report"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/gauge"
)

// idlers is the number of idle generators that are measured together: one alone takes too little.
const idlers = 1000

// A cost is the part of a process that an idle generator takes.
type cost struct {
	name       string
	bytes      float64 // heap and stacks
	goroutines float64
	cpu        time.Duration // a second
}

// weighAll measures the costs of the generators of each kind, which are idle for d.
func weighAll(ctx context.Context, d time.Duration) (all []cost, err error) {
	store := new(fakeassigner.Assigner)
	for _, kind := range []struct {
		name string
		open func() (io.Closer, error)
	}{
		{"cached", func() (io.Closer, error) { return cached.New(cached.Config{Assigner: store}) }},
		{"cached, MaxStaleness -1", func() (io.Closer, error) { return cached.New(cached.Config{Assigner: store, MaxStaleness: -1}) }},
		{"defaultgen", func() (io.Closer, error) { return defaultgen.New(defaultgen.Config{Assigner: store}) }},
		{"segment", func() (io.Closer, error) { return gauge.Segment(ctx) }},
	} {
		c, err := weigh(ctx, d, kind.open)
		if err != nil {
			return nil, err
		}
		c.name = kind.name
		all = append(all, c)
	}
	return all, nil
}

// weigh measures the cost of a generator, of idlers of them.
func weigh(ctx context.Context, d time.Duration, open func() (io.Closer, error)) (c cost, err error) {
	generators := make([]io.Closer, 0, idlers)
	defer func() {
		for _, g := range generators {
			err = errors.Join(err, g.Close())
		}
	}()
	goroutines := runtime.NumGoroutine()
	heap, stacks := memory()
	for range idlers {
		g, err := open()
		if err != nil {
			return c, err
		}
		generators = append(generators, g)
	}
	c.goroutines = float64(runtime.NumGoroutine()-goroutines) / idlers
	heapAfter, stacksAfter := memory()
	c.bytes = float64(heapAfter-heap+stacksAfter-stacks) / idlers
	before, began := load.CPUTime(), time.Now()
	pause(ctx, d)
	c.cpu = time.Duration(float64(load.CPUTime()-before) / time.Since(began).Seconds() / idlers)
	return c, ctx.Err()
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// memory returns the bytes of the heap and of stacks that are in use.
func memory() (heap, stacks int64) {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc), int64(m.StackInuse)
}

func costTable(all []cost) *report.Table {
	t := report.NewTable("generator", "memory", "goroutines", "CPU time a second, idle")
	for _, c := range all {
		t.Add(c.name, report.KiB(c.bytes), report.Figure(c.goroutines), report.Ns(float64(c.cpu)))
	}
	return t
}
