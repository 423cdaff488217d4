package segment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/uidring/uidring/internal/check"
)

// A Period is the time after which [Numbers] begins at 1 again.
type Period int

const (
	Daily   Period = iota // counts from 1 each day: 20261122
	Monthly               // 202611
	Yearly                // 2026
	Forever               // never begins again, and the number has no date
)

// A NumbersConfig says how to make Numbers.
type NumbersConfig struct {
	// Counter makes the generator of each period. Its Name is followed by a hyphen and the date:
	// orders-20261122. Give no other counter of the store a name of this form, such as orders-2026
	// beside yearly orders: both would take their numbers from one counter. Small ranges lose few
	// numbers when a process ends, and keep the numbers of several processes closer to the order of
	// time. Next waits, so OnEmpty changes nothing.
	Counter Config
	// Period is the time after which the numbers begin at 1 again; zero: Daily.
	Period Period
	// Location is the time zone in which days, months and years begin; nil: UTC. All processes must
	// use the same. Its changes to and from summer time are observed.
	Location *time.Location
	// Prefix is put before the date, or before the number if there is no date.
	Prefix string
	// Separator is put between date and number.
	Separator string
	// Width is the smallest number of digits, filled with zeros from the left, 0 to 19. A number
	// with more digits is written in full.
	Width int
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// Validate checks a NumbersConfig as [NewNumbers] does. It reports all mistakes together, as
// [Config.Validate] does.
func (cfg NumbersConfig) Validate() error {
	_, err := cfg.resolve()
	return err
}

func (cfg NumbersConfig) resolve() (NumbersConfig, error) {
	cfg.Location = cmp.Or(cfg.Location, time.UTC)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	c := &check.Checker{}
	c.Check(cfg.Period >= Daily && cfg.Period <= Forever, "Period", cfg.Period, "Daily, Monthly, Yearly, Forever")
	if cfg.Period != Forever { // the name of the counter has a date
		const suffix = len("-20060102")
		c.Check(len(cfg.Counter.Name) <= maxName-suffix, "Name", strconv.Quote(cfg.Counter.Name), "up to %d bytes, unless Period is Forever", maxName-suffix)
	}
	c.Check(cfg.Width >= 0 && cfg.Width <= 19, "Width", cfg.Width, "0 to 19")
	var err error
	cfg.Counter, err = cfg.Counter.resolve()
	return cfg, errors.Join(err, c.Err())
}

// Numbers issues numbers for people, such as ORD-20261122-000042: unique within their period, and
// beginning at 1 in each. They increase and have gaps like the IDs of a [Generator]; with several
// processes a smaller number may be issued later. All methods may be called by any number of
// goroutines at once.
type Numbers struct {
	cfg NumbersConfig

	mu      sync.Mutex
	closed  bool
	date    string
	current *Generator     // of date; nil before the first call
	ended   sync.WaitGroup // of the goroutines that close former generators
}

// NewNumbers returns Numbers, without a call of the source. It reports all mistakes in cfg
// together, as [ErrInvalidConfig].
func NewNumbers(cfg NumbersConfig) (*Numbers, error) {
	cfg, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	return &Numbers{cfg: cfg}, nil
}

// Next returns the next number of the present period. The first call in a period begins to fetch a
// range. All calls before the range is there wait for it as [NewContext] does: until ctx ends, or
// the source returns an error that stays. Later calls wait where [Generator.NextContext] does. The
// clock decides only about the period: if it goes back over midnight, the numbers go on in the
// earlier day.
func (n *Numbers) Next(ctx context.Context) (string, error) {
	for {
		g, date, err := n.generator()
		if err != nil {
			return "", err
		}
		id, err := g.early(ctx)
		switch {
		case err == nil:
			if date != "" {
				date += n.cfg.Separator
			}
			return fmt.Sprintf("%s%s%0*d", n.cfg.Prefix, date, n.cfg.Width, id), nil
		case !g.closer.Closed(): // else the period has ended meanwhile, or Close was called
			return "", err
		}
	}
}

// early is NextContext, but first waits for the first range.
func (g *Generator) early(ctx context.Context) (int64, error) {
	if !g.begun.Load() {
		if err := g.first(ctx); err != nil {
			return 0, g.reject(err)
		}
	}
	return g.NextContext(ctx)
}

// generator returns the generator of the present period, and its date. It makes the generator if
// the period has changed, and calls no source: callers wait in the generator.
func (n *Numbers) generator() (*Generator, string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, "", ErrClosed
	}
	date := n.cfg.Now().In(n.cfg.Location).Format([...]string{"20060102", "200601", "2006", ""}[n.cfg.Period])
	if n.current != nil && n.date == date {
		return n.current, date, nil
	}
	cfg, level := n.cfg.Counter, slog.LevelWarn
	if date != "" { // each period has a new counter
		cfg.Name, level = cfg.Name+"-"+date, slog.LevelInfo
	}
	next := start(cfg, level)
	if former := n.current; former != nil {
		n.ended.Go(func() { _ = former.Close() }) // always nil
	}
	n.current, n.date = next, date
	return next, date, nil
}

// Stats returns a snapshot of the generator of the present period, the zero Stats before its first
// call. In a new period all counters begin at 0 again.
func (n *Numbers) Stats() Stats {
	n.mu.Lock() //mutate:remove the race detector sees it
	defer n.mu.Unlock()
	if n.current == nil {
		return Stats{}
	}
	return n.current.Stats()
}

// Invalidate is [Generator.Invalidate] for the present period.
func (n *Numbers) Invalidate() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.current != nil {
		n.current.Invalidate()
	}
}

// Close ends the generator of the present period, and waits for its goroutines. Afterwards, and in
// calls that wait, Next returns ErrClosed. Closing again does nothing.
func (n *Numbers) Close() error {
	n.mu.Lock()
	n.closed = true
	last := n.current //mutate:swap after closed is set, no call changes current
	n.mu.Unlock()
	if last != nil {
		_ = last.Close() // always nil
	}
	n.ended.Wait()
	return nil
}
