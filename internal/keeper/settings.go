package keeper

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
)

// Settings are the configuration that all generators share.
type Settings struct {
	Layout        bitsalloc.Layout
	Epoch         time.Time
	DatacenterID  int64
	Assigner      assigner.Assigner
	AssignTimeout time.Duration
	Logger        *slog.Logger
	Now           func() time.Time
}

// A Checker collects the mistakes of a configuration, to report them all at once.
type Checker struct {
	Sentinel error // wrapped by each mistake
	errs     []error
}

// Check records a mistake unless ok.
func (c *Checker) Check(ok bool, format string, args ...any) {
	if !ok {
		c.Add(fmt.Errorf("%w: "+format, append([]any{c.Sentinel}, args...)...))
	}
}

// Add records an error; it ignores nil.
func (c *Checker) Add(err error) { c.errs = append(c.errs, err) }

// Err returns all mistakes, or nil.
func (c *Checker) Err() error { return errors.Join(c.errs...) }

// Resolve fills in the defaults of s, records its mistakes in c, and returns the allocator. If only
// the epoch is wrong, the allocator has the default epoch; if the layout is wrong, Resolve returns
// nil. exhausted is the error for a layout that has ended.
func (s *Settings) Resolve(c *Checker, exhausted error) *bitsalloc.Allocator {
	if s.Layout == (bitsalloc.Layout{}) {
		s.Layout = bitsalloc.Default()
	}
	Default(&s.AssignTimeout, 10*time.Second)
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	if s.Now == nil {
		s.Now = time.Now
	}
	c.Check(s.Assigner != nil, "Assigner nil, allowed: any, such as sqlassigner.Disposable, or assigner.Static with a way "+
		"to be safe across restarts; there is no safe default worker ID")
	c.Check(s.AssignTimeout > 0, "AssignTimeout %v, allowed: more than 0", s.AssignTimeout)
	Default(&s.Epoch, bitsalloc.DefaultEpoch())
	now := s.Now()
	c.Check(!s.Epoch.After(now), "Epoch %v, allowed: not in the future; it is %v", s.Epoch.UTC(), now.UTC())
	alloc, err := bitsalloc.New(s.Layout, s.Epoch)
	c.Add(err)
	if err == nil && alloc.Delta(now) > alloc.MaxDelta() {
		c.Add(Exhausted(exhausted, alloc))
	}
	if err != nil { // the bounds that a layout gives do not depend on the epoch
		if alloc, err = bitsalloc.New(s.Layout, time.Time{}); err != nil {
			c.Check(s.DatacenterID >= 0, "DatacenterID %d, allowed: 0 or more", s.DatacenterID)
			return nil
		}
	}
	c.Check(s.DatacenterID >= 0 && s.DatacenterID <= alloc.MaxDatacenterID(),
		"DatacenterID %d, allowed with layout %v: 0 to %d", s.DatacenterID, alloc.Layout(), alloc.MaxDatacenterID())
	return alloc
}

// Config returns a Config for Start, without Used, Position, Ended and Trace, which the caller
// adds. Unless reuseSafe is set, it refuses an unfenced worker ID that comes back; advice tells the
// user how to avoid that.
func (s *Settings) Config(alloc *bitsalloc.Allocator, reuseSafe bool, advice string) Config {
	var refused error
	if !reuseSafe {
		refused = fmt.Errorf("%w, and comes back after a restart: %s, or AllowReuse to take the risk, or use a worker ID that "+
			"is fresh or fenced", assigner.ErrUnfencedReuse, advice)
	}
	return Config{
		Assigner: s.Assigner,
		Domain: assigner.Domain{
			Layout:       alloc.Layout(),
			Epoch:        alloc.Epoch(),
			DatacenterID: s.DatacenterID,
			Registered:   true,
			ReuseError:   refused,
		},
		Alloc:   alloc,
		Now:     s.Now,
		Timeout: s.AssignTimeout,
		Logger:  s.Logger,
	}
}

// Exhausted returns an error that wraps sentinel and names the layout that has ended, and its end.
func Exhausted(sentinel error, alloc *bitsalloc.Allocator) error {
	return fmt.Errorf("%w: layout %v from epoch %s ends at %s; choose more DeltaBits or a later epoch", sentinel,
		alloc.Layout(), alloc.Epoch().Format(time.RFC3339), alloc.Expires().Format(time.RFC3339))
}

// Default sets field to value if it has the zero value of its type.
func Default[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
