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
	"github.com/uidring/uidring/internal/test/testkit"
)

// idlers is the number of idle generators that are measured together: one alone takes too little.
const idlers = 1000

// A cost is the part of a process that an idle generator takes.
type cost struct {
	heap, stacks float64 // bytes
	goroutines   float64
	cpu          float64 // nanoseconds a second
}

// costs returns the table of the costs of generators of each kind, which are idle for d.
func costs(ctx context.Context, d time.Duration) (*report.Table, error) {
	store := new(fakeassigner.Assigner)
	t := report.NewTable("generator", "memory", "goroutines", "CPU time a second, idle")
	for _, kind := range []struct {
		name string
		open func() (io.Closer, error)
	}{
		{"cached", func() (io.Closer, error) { return cached.New(cached.Config{Assigner: store}) }},
		{"cached, MaxStaleness -1", func() (io.Closer, error) { return cached.New(cached.Config{Assigner: store, MaxStaleness: -1}) }},
		{"defaultgen", func() (io.Closer, error) { return defaultgen.New(defaultgen.Config{Assigner: store}) }},
		{"segment", func() (io.Closer, error) { return gauge.Segment(ctx) }},
	} {
		c, err := weigh(ctx, idlers, d, kind.open)
		if err != nil {
			return nil, err
		}
		t.Add(kind.name, report.KiB(c.heap+c.stacks), report.Figure(c.goroutines), report.Ns(c.cpu))
	}
	return t, nil
}

// weigh measures the cost of each of n generators, which are idle for d.
func weigh(ctx context.Context, n int, d time.Duration, open func() (io.Closer, error)) (c cost, err error) {
	generators := make([]io.Closer, 0, n)
	defer func() {
		for _, g := range generators {
			err = errors.Join(err, g.Close())
		}
	}()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	goroutines := runtime.NumGoroutine()
	for range n {
		g, err := open()
		if err != nil {
			return c, err
		}
		generators = append(generators, g)
	}
	c.goroutines = float64(runtime.NumGoroutine()-goroutines) / float64(n)
	runtime.GC()
	runtime.ReadMemStats(&after)
	c.heap = max(float64(after.HeapAlloc)-float64(before.HeapAlloc), 0) / float64(n)
	c.stacks = max(float64(after.StackInuse)-float64(before.StackInuse), 0) / float64(n)
	used, began := load.CPUTime(), time.Now()
	testkit.Pause(ctx, d)
	c.cpu = float64(load.CPUTime()-used) / time.Since(began).Seconds() / float64(n)
	return c, ctx.Err()
}
