package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bench/internal/contestants"
	"github.com/uidring/uidring/bench/internal/load"
	"github.com/uidring/uidring/bench/internal/report"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/gauge"
)

// tuneRounds is the number of laps of each setting.
const tuneRounds = 7

// bursts is the number of bursts in a lap. By chance a single one may find the ring full.
const bursts = 3

// mostIDs is the largest -rate and -burst. No machine is faster.
const mostIDs = 1_000_000_000

// A tuning measures a load with several settings of the ring.
type tuning struct {
	facts      report.Facts
	rate       int
	burst      burst
	layout     bitsalloc.Layout
	goroutines int
	onEmpty    string
	lap        time.Duration
	plot       string
	progress   io.Writer

	opened   int        // generators
	settings []*setting // the first is the default
	flatOut  results
}

// policies are the values of -on-empty.
var policies = map[string]cached.EmptyPolicy{"inline": cached.PadInline, "reject": cached.Reject}

// A burst is a number of IDs that are taken within a time, beside nothing else.
type burst struct {
	ids    int
	within time.Duration
}

// MarshalText implements [encoding.TextMarshaler].
func (b burst) MarshalText() ([]byte, error) {
	if b.ids == 0 {
		return []byte("0"), nil
	}
	return fmt.Appendf(nil, "%d/%v", b.ids, b.within), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (b *burst) UnmarshalText(text []byte) error {
	ids, within, _ := strings.Cut(string(text), "/")
	var err error
	if b.ids, err = strconv.Atoi(ids); err == nil && b.ids > 0 {
		b.within, err = time.ParseDuration(within)
	}
	if err != nil || b.ids < 0 || b.ids > mostIDs || b.ids > 0 && b.within <= 0 {
		return fmt.Errorf("burst %q, allowed: up to %d IDs and a time such as 2000000/100ms, or 0", text, mostIDs)
	}
	return nil
}

// A setting is a pair of BoostPower and PaddingFactor with its laps.
type setting struct {
	boost, padding int
	interval       time.Duration
	steady, burst  figures
	heap           float64 // bytes of a generator
}

// figures have a value of each lap.
type figures [ahead + 1][]float64

// The figures of a lap.
const (
	pads     = iota // per million calls
	rejected        // per million calls
	p999            // nanoseconds of a call; 0: too few calls
	p9999           // the same
	longest         // nanoseconds of a call
	ahead           // nanoseconds ahead of the clock: before the steady load, after the bursts
)

func tuneCommand(flags *flag.FlagSet) func(context.Context, io.Writer) error {
	t := &tuning{progress: io.Discard}
	if file, ok := flags.Output().(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 { // a terminal
			t.progress = file
		}
	}
	flags.IntVar(&t.rate, "rate", 300_000, "`IDs` a second of the steady load, from 1")
	flags.TextVar(&t.burst, "burst", burst{2_000_000, 100 * time.Millisecond}, fmt.Sprintf("`IDs/time` of each of %d bursts after it; 0: none", bursts))
	layoutFlag(flags, &t.layout, bitsalloc.Recommended())
	flags.IntVar(&t.goroutines, "goroutines", 8, "goroutines that take IDs, from 1")
	flags.StringVar(&t.onEmpty, "on-empty", "inline", "inline or reject: the `policy` for an empty ring")
	flags.DurationVar(&t.lap, "lap", 400*time.Millisecond, "time of the steady load in a lap; a setting has "+strconv.Itoa(tuneRounds)+" laps")
	flags.StringVar(&t.plot, "plot", "", "draw the calls of each pair into this `file`, as SVG")
	return func(ctx context.Context, w io.Writer) error {
		t.facts = report.NewFacts(commandLine(flags))
		if err := t.run(ctx); err != nil {
			return err
		}
		if t.plot != "" {
			if err := os.WriteFile(t.plot, []byte(t.figure().SVG()), 0o644); err != nil {
				return err
			}
		}
		return show(w, t.print)
	}
}

func (t *tuning) run(ctx context.Context) error {
	if t.rate < 1 || t.rate > mostIDs || t.goroutines < 1 || t.lap <= 0 {
		return fmt.Errorf("-rate %d, -goroutines %d, -lap %v; allowed: 1 to %d, at least 1, at least 1ns", t.rate, t.goroutines, t.lap, mostIDs)
	}
	if _, ok := policies[t.onEmpty]; !ok {
		return fmt.Errorf("-on-empty %q; allowed: inline, reject", t.onEmpty)
	}
	if t.plot != "" { // before a minute of measurement depends on it
		if err := os.WriteFile(t.plot, nil, 0o644); err != nil {
			return err
		}
	}
	t.settings = candidates()
	for _, s := range slices.Concat(t.settings[:1], t.settings) { // the first one allocates for all
		c, err := weigh(ctx, 1, 0, func() (io.Closer, error) { return t.open(ctx, s) })
		if err != nil {
			return err
		}
		s.heap = c.heap
	}
	began := time.Now()
	for round := range tuneRounds {
		for i, at := range rand.Perm(len(t.settings)) {
			if err := t.settings[at].measure(ctx, t); err != nil {
				return err
			}
			laps := round*len(t.settings) + i + 1
			left := time.Since(began) * time.Duration(tuneRounds*len(t.settings)-laps) / time.Duration(laps)
			fmt.Fprintf(t.progress, "\rround %d of %d, lap %d of %d, %v left ", round+1, tuneRounds, i+1, len(t.settings), left.Round(time.Second))
		}
	}
	t.flatOut = t.sweep()
	fmt.Fprintf(t.progress, "\r%-60s", fmt.Sprintf("throughput: %d laps of %v", tuneRounds*len(t.flatOut), t.lap/6))
	err := hold(ctx, t.flatOut, tuneRounds, t.lap/6)
	fmt.Fprintf(t.progress, "\r%60s\r", "")
	return err
}

// candidates returns the settings: the default, from the smallest ring to the largest, and a
// schedule.
func candidates() []*setting {
	all := []*setting{{boost: 3, padding: 50}}
	for _, boost := range []int{1, 3, 5, 8} {
		for _, padding := range []int{50, 10, 90} {
			if boost != 3 || padding != 50 {
				all = append(all, &setting{boost: boost, padding: padding})
			}
		}
	}
	return append(all, &setting{boost: 3, padding: 50, interval: 10 * time.Millisecond})
}

// config returns the Config of a generator. Its IDs are not kept. Each has an epoch of its own: a
// worker ID that comes back in a process begins above its last delta instead of at the clock.
func (t *tuning) config(boost, padding int) cached.Config {
	t.opened++
	return cached.Config{
		Layout: t.layout, Epoch: bitsalloc.DefaultEpoch().Add(time.Duration(t.opened) * time.Millisecond),
		Assigner: assigner.Static(0), AllowReuse: true, BoostPower: boost, PaddingFactor: padding,
	}
}

func (t *tuning) open(ctx context.Context, s *setting) (*cached.Generator, error) {
	cfg := t.config(s.boost, s.padding)
	cfg.OnEmpty, cfg.ScheduleInterval = policies[t.onEmpty], s.interval
	return cached.NewContext(ctx, cfg)
}

// measure runs a lap: the steady load, and then the bursts.
func (s *setting) measure(ctx context.Context, t *tuning) (err error) {
	g, err := t.open(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	s.steady[ahead] = append(s.steady[ahead], float64(g.Stats().Ahead))
	calls := max(int(float64(t.rate)*t.lap.Seconds()), 1)
	if err := s.steady.measure(ctx, g, t.goroutines, 1, calls, t.lap); err != nil {
		return err
	}
	if t.burst.ids > 0 {
		err = s.burst.measure(ctx, g, t.goroutines, bursts, t.burst.ids, t.burst.within)
	}
	s.burst[ahead] = append(s.burst[ahead], float64(g.Stats().Ahead))
	return err
}

func (f *figures) measure(ctx context.Context, g *cached.Generator, goroutines, repeat, calls int, d time.Duration) error {
	every := 1
	if float64(calls)/d.Seconds() > 1e6 {
		every = 32 // timing each call would slow them down
	}
	before := g.Stats()
	var times []time.Duration
	for range repeat {
		time.Sleep(10 * time.Millisecond) // the ring fills up
		more, err := load.Pace(ctx, goroutines, calls, every, d, func() error {
			if _, err := g.Next(); !errors.Is(err, cached.ErrEmpty) { // RejectedTakes counts it
				return err
			}
			return nil
		})
		if err != nil {
			return err
		}
		times = append(times, more...)
	}
	slices.Sort(times)
	after := g.Stats()
	million := float64(repeat*calls) / 1e6
	slowest := func(share float64) float64 { // the fastest of the slowest calls
		n := int(share * float64(len(times)))
		if n == 0 {
			return 0
		}
		return float64(times[len(times)-n])
	}
	for i, value := range [...]float64{
		pads:     float64(after.InlinePads-before.InlinePads) / million,
		rejected: float64(after.RejectedTakes-before.RejectedTakes) / million,
		p999:     slowest(1e-3), p9999: slowest(1e-4), longest: float64(times[len(times)-1]),
	} {
		f[i] = append(f[i], value)
	}
	return nil
}

// sweep returns the events of the throughput: one setting varies, and the others are the defaults.
func (t *tuning) sweep() (all results) {
	add := func(name string, goroutines, boost, padding int, bits uint8) {
		config := func() cached.Config {
			cfg := t.config(boost, padding)
			cfg.Layout.DeltaBits += cfg.Layout.SequenceBits - bits
			cfg.Layout.SequenceBits = bits
			return cfg
		}
		if config().Validate() != nil {
			return // a layout that has no IDs left
		}
		open := contestants.Started(func(ctx context.Context, _ int64) (*cached.Generator, error) { return cached.NewContext(ctx, config()) }, gauge.Next)
		all = append(all, &event{goroutines: goroutines, Contestant: contestants.Contestant{Name: name, Open: open}})
	}
	own := t.layout.SequenceBits
	for boost := 1; boost <= 8; boost++ {
		add(fmt.Sprint("BoostPower ", boost), t.goroutines, boost, 50, own)
	}
	for _, padding := range []int{10, 25, 50, 75, 90} {
		add(fmt.Sprint("PaddingFactor ", padding), t.goroutines, 3, padding, own)
	}
	for _, n := range []int{1, 2, 4, 8, 32} {
		add(report.Goroutines(n), n, 3, 50, own)
	}
	for _, bits := range []uint8{10, 12, 13, 16, 20, 22} {
		add(fmt.Sprint(bits, " sequence bits"), t.goroutines, 3, 50, bits)
	}
	return all
}
