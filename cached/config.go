package cached

import (
	"cmp"
	"log/slog"
	"math"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/keeper"
)

// An EmptyPolicy decides how Next, Fill, Reserve and lanes treat an empty ring.
type EmptyPolicy int

const (
	// PadInline: the caller that finds the ring empty puts the next block itself.
	PadInline EmptyPolicy = iota
	// Reject: the caller gets ErrEmpty, and the padding goroutine is woken.
	Reject
)

// A Config says how to make a Generator. The zero value of each field but Assigner is its default.
type Config struct {
	// Layout sets the widths of the fields and the unit of time. Zero is [bitsalloc.Default],
	// 28/5/17/13, the widths of the original with a datacenter field: until 2034, 8,192 IDs a
	// second; New then logs a warning, and none for a layout that is written down. For leased
	// worker IDs take [bitsalloc.Recommended] from the first ID on: until 2094, 1,048,576 IDs a
	// second, 4,096 worker IDs, which suffice since leases reuse them.
	Layout bitsalloc.Layout
	// Epoch is the instant that deltas count from, with whole milliseconds, not in the future;
	// zero: [bitsalloc.DefaultEpoch]. All services that write to one table must agree on it.
	Epoch time.Time
	// DatacenterID is the value of the datacenter field, from 0 to 2^DatacenterBits - 1.
	DatacenterID int64
	// Assigner finds the worker ID. It is required: there is no safe default.
	Assigner assigner.Assigner
	// AllowReuse accepts an unfenced worker ID that comes back after a restart, and does not wait.
	// The new process then repeats IDs if the old one had run ahead of the clock, or if the clock
	// has gone back.
	AllowReuse bool
	// AssignTimeout bounds each claim, renewal and release of a worker ID. No renewal takes more
	// than 15 s. Zero: 25 s for a claim, which takes long when many processes start at once, and
	// 10 s for the others.
	AssignTimeout time.Duration
	// StartTimeout bounds the waits of [New]: for a store that does not answer, for a worker ID in
	// quarantine, for a unit that an earlier process may have used. New returns the error at once
	// if it would have to wait longer. [NewContext] waits until its context ends instead. Zero: 30
	// s, or two units if that is more.
	StartTimeout time.Duration

	// BoostPower sets the size of the ring, 2^BoostPower blocks of 2^SequenceBits IDs: 1 to 8;
	// zero: 3. With a leased worker ID, a ring of more units than the grant is not filled up, see
	// [assigner.LeaseConfig].Window.
	BoostPower int
	// PaddingFactor is the percentage of the ring at or below which the padding goroutine is woken,
	// 1 to 99; zero: 50. The generator compares it once per block. A single block left always wakes
	// the padding goroutine.
	PaddingFactor int
	// ScheduleInterval makes the padding goroutine check the ring at this interval, too, at least
	// 1 ms; zero: off.
	ScheduleInterval time.Duration
	// MaxStaleness is how far the time in an ID may fall behind the clock, at least two units; the
	// generator drops older IDs. Zero: 2 s, or two units if that is more; negative: unbounded.
	MaxStaleness time.Duration
	// MaxAhead is how far the time in an ID may run ahead of the clock, at least one unit, rounded
	// down to whole units; beyond it callers get ErrTooFarAhead. The clock is the one read when the
	// worker ID was taken, carried on by the monotonic clock. Zero and negative: unbounded.
	//
	// MaxAhead also accepts an unfenced worker ID that comes back after a restart. New then waits
	// for MaxAhead, to begin after the last ID of an earlier process, unless AllowReuse is set. The
	// conditions that remain: an earlier process with a larger MaxAhead ended at least that long
	// ago, and one without MaxAhead was not further ahead. The clock does not go back, neither over
	// the restart nor while a generator runs.
	MaxAhead time.Duration
	// OnEmpty is the policy for an empty ring; zero: PadInline.
	OnEmpty EmptyPolicy

	// Logger gets one record for each rare event and none for an ID; nil: slog.Default().
	// slog.New(slog.DiscardHandler) silences it. A handler must not wait for IDs of this generator.
	Logger *slog.Logger
	// Trace holds funcs that are called for rare events.
	Trace Trace
	// Now is the clock; nil: time.Now. The generator reads it when it takes or renews a worker
	// ID, and in Stats, never for an ID, and may call it from several goroutines at once.
	Now func() time.Time
}

// Trace holds funcs for rare events; each may be nil. The goroutine that meets the event calls the
// func, under no lock, and waits for it; several may at once. It may be renewing the lease or
// padding, so a func must not wait, take IDs or call Close: it starts a goroutine for that. A panic
// in a func is recovered and logged; a func must not call runtime.Goexit.
type Trace struct {
	// Padded is called after a padding pass that has put blocks.
	Padded func(PaddedInfo)
	// TakeRejected is called when a method that issues IDs returns an error other than ErrClosed,
	// but not for the errors of calls that such a func makes.
	TakeRejected func(uidring.TakeRejectedInfo)
	// LeaseAssigned is called when the generator has taken a worker ID: in New, after a loss, and
	// after Invalidate.
	LeaseAssigned func(assigner.LeaseInfo)
	// LeaseLost is called when the generator has lost its worker ID, but not by Invalidate or
	// Close. The generator takes another. Meanwhile it uses up a grant with a fence, unless the
	// store may hand out the same deltas again.
	LeaseLost func(assigner.LeaseInfo)
	// RenewFailed is called when a renewal failed, or a claim after New failed or was put off, see
	// [assigner.ErrQuarantined]. The generator retries.
	RenewFailed func(assigner.LeaseInfo)
	// LeaseKept is called when the store answers again after that, and the generator has kept its
	// worker ID.
	LeaseKept func(assigner.LeaseInfo)
}

// A PaddedInfo tells Trace.Padded about a padding pass.
type PaddedInfo struct {
	Blocks int // put by the pass, at least one
}

// Validate checks a Config as [New] does, without taking a worker ID. It reports all mistakes
// together, each as a [uidring.FieldError]; a method Unwrap() []error returns them.
func (cfg Config) Validate() error {
	_, _, err := cfg.resolve()
	return err
}

// resolve fills in the defaults, and returns a Keeper that has not been started and all mistakes.
func (cfg Config) resolve() (Config, *keeper.Keeper, error) {
	unit := cmp.Or(cfg.Layout.Unit, time.Second)
	cfg.MaxAhead = max(cfg.MaxAhead, 0) // both are unbounded
	cfg.BoostPower = cmp.Or(cfg.BoostPower, 3)
	cfg.PaddingFactor = cmp.Or(cfg.PaddingFactor, 50)
	k, c := keeper.New(keeper.Settings{
		Layout:        cfg.Layout,
		Epoch:         cfg.Epoch,
		DatacenterID:  cfg.DatacenterID,
		Assigner:      cfg.Assigner,
		AllowReuse:    cfg.AllowReuse,
		MaxAhead:      cmp.Or(int64(cfg.MaxAhead/unit), math.MaxInt64),
		AssignTimeout: cfg.AssignTimeout,
		StartTimeout:  cfg.StartTimeout,
		Logger:        cfg.Logger,
		Now:           cfg.Now,
		Trace: keeper.Trace{
			TakeRejected:  cfg.Trace.TakeRejected,
			LeaseAssigned: cfg.Trace.LeaseAssigned,
			LeaseLost:     cfg.Trace.LeaseLost,
			RenewFailed:   cfg.Trace.RenewFailed,
			LeaseKept:     cfg.Trace.LeaseKept,
		},
		Package: "cached",
	})
	c.Check(cfg.BoostPower >= 1 && cfg.BoostPower <= 8, "BoostPower", cfg.BoostPower, "1 to 8")
	c.Check(cfg.PaddingFactor >= 1 && cfg.PaddingFactor <= 99, "PaddingFactor", cfg.PaddingFactor, "1 to 99")
	c.Check(cfg.ScheduleInterval == 0 || cfg.ScheduleInterval >= time.Millisecond, "ScheduleInterval", cfg.ScheduleInterval,
		"0 (off) or at least 1ms, such as 60 * time.Second")
	c.Check(cfg.OnEmpty == PadInline || cfg.OnEmpty == Reject, "OnEmpty", cfg.OnEmpty, "PadInline, Reject")
	cfg.MaxStaleness = cmp.Or(cfg.MaxStaleness, 2*max(time.Second, unit))
	//mutate:number,operator the default leaves no 0
	c.Check(cfg.MaxStaleness < 0 || cfg.MaxStaleness >= 2*unit, "MaxStaleness", cfg.MaxStaleness,
		"negative (unbounded), 0 (the default) or at least two units, %v", 2*unit)
	c.Check(cfg.MaxAhead == 0 || cfg.MaxAhead >= unit, "MaxAhead", cfg.MaxAhead, "negative or 0 (unbounded) or at least the unit, %v", unit)
	cfg.MaxAhead = cfg.MaxAhead.Truncate(unit)
	return cfg, k, c.Err()
}
