package segment

import (
	"log/slog"
	"time"

	"github.com/uidring/uidring/internal/keeper"
)

// An EmptyPolicy decides how Next, Fill and Reserve treat a generator without IDs.
type EmptyPolicy int

const (
	// FetchInline: the caller waits for the range that is being fetched. It waits at most Timeout,
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
	// in turn, and goes on with the rest when one fails. Their ranges must have a Delta of at least
	// the number of sources, and different remainders; otherwise the generator uses up the ranges
	// that it has, and ends with ErrInvalidRange.
	Others []Source

	// Step is the number of IDs in the first range and the smallest number in any range, 1 to 2^40;
	// zero: 1,000.
	Step int64
	// MaxStep is the largest number of IDs in a range, Step to 2^40; zero: 1,000,000, or Step if
	// that is more. Step and MaxStep are equal: all ranges have the same size.
	MaxStep int64
	// RangeLasts is the time for which a range should last: the generator doubles the size when a
	// range lasts less, and halves it when a range lasts more than twice as long. Zero: 15 min.
	RangeLasts time.Duration
	// Ahead is the number of ranges of each source that are fetched before the present one is used
	// up, 1 to 64; zero: 1.
	Ahead int
	// OnEmpty is the policy for a generator without IDs; zero: FetchInline.
	OnEmpty EmptyPolicy
	// Timeout bounds each call of a source; zero: 5 s.
	Timeout time.Duration

	// Logger gets a record when a source stops answering, and when it answers again; nil: no log.
	Logger *slog.Logger
	// Trace holds funcs that are called for rare events.
	Trace Trace
}

// Validate reports all mistakes in cfg together, as ErrInvalidConfig, without calling the sources.
func (cfg Config) Validate() error {
	_, err := cfg.resolve()
	return err
}

// resolve fills in the defaults and reports all mistakes together.
func (cfg Config) resolve() (Config, error) {
	keeper.Default(&cfg.Step, 1000)
	keeper.Default(&cfg.MaxStep, max(1_000_000, cfg.Step))
	keeper.Default(&cfg.RangeLasts, 15*time.Minute)
	keeper.Default(&cfg.Ahead, 1)
	keeper.Default(&cfg.Timeout, 5*time.Second)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	c := &keeper.Checker{Sentinel: ErrInvalidConfig}
	c.Check(len(cfg.Name) >= 1 && len(cfg.Name) <= maxName, "Name %q, allowed: 1 to %d bytes", cfg.Name, maxName)
	c.Check(cfg.Source != nil, "Source nil, allowed: any, such as sqlassigner.SegmentSource")
	c.Check(len(cfg.Others) < maxSources, "Others has %d sources, allowed: up to %d", len(cfg.Others), maxSources-1)
	for i, s := range cfg.Others {
		c.Check(s != nil, "Others[%d] nil, allowed: any source", i)
	}
	c.Check(cfg.Step >= 1 && cfg.Step <= maxStep, "Step %d, allowed: 1 to %d", cfg.Step, int64(maxStep))
	c.Check(cfg.MaxStep >= cfg.Step && cfg.MaxStep <= maxStep, "MaxStep %d, allowed: Step, %d, to %d", cfg.MaxStep, cfg.Step, int64(maxStep))
	c.Check(cfg.RangeLasts > 0, "RangeLasts %v, allowed: more than 0", cfg.RangeLasts)
	c.Check(cfg.Ahead >= 1 && cfg.Ahead <= maxAhead, "Ahead %d, allowed: 1 to %d", cfg.Ahead, maxAhead)
	c.Check(cfg.OnEmpty == FetchInline || cfg.OnEmpty == Reject, "OnEmpty %d, allowed: FetchInline, Reject", cfg.OnEmpty)
	c.Check(cfg.Timeout > 0, "Timeout %v, allowed: more than 0", cfg.Timeout)
	return cfg, c.Err()
}
