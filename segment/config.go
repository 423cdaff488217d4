package segment

import (
	"cmp"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/uidring/uidring/internal/check"
)

// An EmptyPolicy decides how Next, Fill and Reserve treat a generator without IDs.
type EmptyPolicy int

const (
	// FetchInline: the caller waits for the range that is being fetched, as [Generator.Next] says,
	// and not at all when the call of the store before has failed.
	FetchInline EmptyPolicy = iota
	// Reject: the caller gets ErrEmpty at once.
	Reject
)

const (
	maxName    = 128
	maxAhead   = 64
	maxSources = 64
	maxStep    = 1 << 40
)

// A Config says how to make a Generator. The zero value of each field but Name and Source is its
// default.
type Config struct {
	// Name is the name of the counter: 1 to 128 bytes. A source may allow fewer characters.
	Name string
	// Source holds the counter. It is required.
	Source Source
	// Others are further sources, up to 63, that hold other numbers of the same counter, such as
	// the even ones where Source holds the odd ones. The generator uses the ranges of all sources
	// in turn, and goes on with the rest when one fails. Their ranges must have the same Increment,
	// at least the number of sources, and different remainders; otherwise New returns
	// ErrInvalidRange. If a source that New could not reach returns a wrong range later, the
	// generator uses up the ranges that it has, and ends with that error.
	Others []Source

	// Step is the number of IDs in the first range and the smallest number in any range, 1 to 2^40;
	// zero: 1,000, or MaxStep if that is less.
	Step int64
	// MaxStep is the largest number of IDs in a range, Step to 2^40; zero: 1,000,000, or Step if
	// that is more. Step and MaxStep are equal: all ranges have the same size.
	MaxStep int64
	// RangeLasts is the time for which a range should last: at the end of each, the generator
	// doubles the size if the next range would last less at the rate of that one, and halves it if
	// it would last more than twice as long. Zero: 15 min.
	RangeLasts time.Duration
	// Prefetch is the number of ranges of each source that are fetched before the present one is
	// used up, 1 to 64; zero: 1.
	Prefetch int
	// OnEmpty is the policy for a generator without IDs; zero: FetchInline.
	OnEmpty EmptyPolicy
	// FetchTimeout bounds each call of a source; zero: 5 s.
	FetchTimeout time.Duration
	// StartTimeout bounds the time for which [New] waits for stores that do not answer.
	// [NewContext] waits until its context ends instead. Zero: 30 s.
	StartTimeout time.Duration

	// Logger gets a record when a source stops answering, and when it answers again; nil:
	// slog.Default(). slog.New(slog.DiscardHandler) silences it. A handler must not wait for IDs of
	// this generator.
	Logger *slog.Logger
	// Trace holds funcs that are called for rare events.
	Trace Trace
}

// Validate checks a Config as [New] does, without calling the sources. It reports all mistakes
// together, each as a [uidring.FieldError]; a method Unwrap() []error returns them.
func (cfg Config) Validate() error {
	_, err := cfg.resolve()
	return err
}

// resolve fills in the defaults and reports all mistakes together.
func (cfg Config) resolve() (Config, error) {
	//mutate:swap the default of MaxStep is above both
	cfg.Step = cmp.Or(cfg.Step, min(1000, cmp.Or(max(cfg.MaxStep, 0), maxStep)))
	cfg.MaxStep = cmp.Or(cfg.MaxStep, max(1_000_000, cfg.Step))
	cfg.RangeLasts = cmp.Or(cfg.RangeLasts, 15*time.Minute)
	cfg.Prefetch = cmp.Or(cfg.Prefetch, 1)
	cfg.FetchTimeout = cmp.Or(cfg.FetchTimeout, 5*time.Second)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	c := &check.Checker{}
	c.Check(len(cfg.Name) >= 1 && len(cfg.Name) <= maxName, "Name", strconv.Quote(cfg.Name), "1 to %d bytes", maxName)
	c.Check(cfg.Source != nil, "Source", "nil", "any, such as sqlassigner.SegmentSource")
	c.Check(len(cfg.Others) < maxSources, "Others", fmt.Sprintf("with %d sources", len(cfg.Others)), "up to %d", maxSources-1)
	for i, s := range cfg.Others {
		c.Check(s != nil, fmt.Sprintf("Others[%d]", i), "nil", "any source")
	}
	c.Check(cfg.Step >= 1 && cfg.Step <= maxStep, "Step", cfg.Step, "1 to %d", int64(maxStep))
	c.Check(cfg.MaxStep >= cfg.Step && cfg.MaxStep <= maxStep, "MaxStep", cfg.MaxStep, "Step, %d, to %d", cfg.Step, int64(maxStep))
	c.Check(cfg.RangeLasts >= 1, "RangeLasts", cfg.RangeLasts, "more than 0")
	c.Check(cfg.Prefetch >= 1 && cfg.Prefetch <= maxAhead, "Prefetch", cfg.Prefetch, "1 to %d", maxAhead)
	c.Check(cfg.OnEmpty == FetchInline || cfg.OnEmpty == Reject, "OnEmpty", cfg.OnEmpty, "FetchInline, Reject")
	c.Check(cfg.FetchTimeout >= 1, "FetchTimeout", cfg.FetchTimeout, "more than 0")
	c.Check(cfg.StartTimeout >= 0, "StartTimeout", cfg.StartTimeout, "0 (30 s) or more")
	return cfg, c.Err()
}
