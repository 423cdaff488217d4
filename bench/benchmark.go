package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
)

// latencyTime is how long single calls are timed, unless all is shorter.
const latencyTime = time.Second

// runBenchmark is the program without a subcommand.
func runBenchmark(ctx context.Context, args []string, stdout, _ io.Writer) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	r, err := benchmark(ctx, s, newProgress(s, stdout))
	if err != nil {
		return err
	}
	return r.write(stdout, s.json)
}

// benchmark makes a generator, measures it, times its calls, and checks its IDs.
func benchmark(ctx context.Context, s settings, p *progress) (r report, err error) {
	heap, err := generatorHeap(s)
	if err != nil {
		return r, err
	}
	w, err := openWorkers(ctx, s)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	gen, err := cached.NewContext(ctx, s.config(w.assigner))
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, gen.Close()) }()
	alloc, err := bitsalloc.New(s.layout, time.Time{})
	if err != nil {
		return r, err
	}
	o := outcome{settings: s, alloc: alloc, date: time.Now(), source: w.source, generatorHeap: heap}
	if err := o.phases(ctx, gen, p); err != nil {
		return r, explain(err)
	}
	o.heap, o.fromOS = liveHeap(), fromOS()
	return o.report(thisMachine()), nil
}

// An outcome is all that was found out.
type outcome struct {
	settings settings
	alloc    *bitsalloc.Allocator
	date     time.Time
	source   string // of the worker ID
	measured measuredRun
	latency  latencyRun
	checked  checkedRun

	generatorHeap, heap, fromOS int64
}

func (o *outcome) phases(ctx context.Context, gen *cached.Generator, p *progress) error {
	s := o.settings
	l := load{gen, s.goroutines, s.batch, s.rate}
	err := p.timed("measuring", measureTime(l, s.duration), func() (err error) {
		o.measured, err = measure(ctx, l, s.duration)
		return err
	})
	if err != nil {
		return fmt.Errorf("measuring: %w", err)
	}
	d := min(latencyTime, s.duration)
	err = p.timed("timing single calls", d, func() (err error) {
		o.latency, err = timeCalls(ctx, l, d)
		return err
	})
	if err != nil {
		return fmt.Errorf("timing single calls: %w", err)
	}
	if s.check == 0 {
		return nil
	}
	c := checkPhase{load: l, alloc: o.alloc, before: max(o.measured.last, o.latency.last), target: s.check}
	if s.rate > 0 {
		c.limit = s.duration
	}
	err = p.show("checking every ID", c.target, c.taken.Load, func() (err error) {
		o.checked, err = c.run(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("checking: %w", err)
	}
	return nil
}

// explain says what to do about an error that the flags have led to.
func explain(err error) error {
	if errors.Is(err, cached.ErrTimeExhausted) {
		return fmt.Errorf("%w; this run has borrowed all that was left of it: choose a -layout with more delta or "+
			"sequence bits, or a -rate", err)
	}
	return err
}
