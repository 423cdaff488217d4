package defaultgen

import (
	"log/slog"
	"math"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/keeper"
)

// A ClockBackPolicy decides how the generator treats a clock that is behind the last ID.
type ClockBackPolicy int

const (
	// Fail: no ID is issued until the clock has caught up, also with the last renewal of a lease.
	// Methods with a context wait for it, the others return ErrClockBack.
	Fail ClockBackPolicy = iota
	// GoOn: the generator carries its clock on from the highest reading, at the pace of the
	// monotonic clock, until the wall clock has caught up. IDs are ahead of the clock by as much as
	// it went back. With a fenced worker ID, a reading that is wrong by years leads to
	// ErrLeaseExhausted and is dropped. With any other worker ID it stays in effect until the
	// process ends.
	GoOn
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
	// AllowReuse accepts, under GoOn, an unfenced worker ID that comes back after a restart. The
	// new process then repeats IDs if the old one was ahead of the clock. Under Fail it never is,
	// and New waits for the next unit. A generator of package cached may be: wait for its MaxAhead.
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

	// OnClockBack is the policy for a clock that is behind the last ID; zero: Fail. A leased worker
	// ID whose last holder has crashed, or has run ahead of the clock, may start ahead of the
	// clock. The generator treats that like a clock that went back. Leases prefer other worker IDs
	// for it.
	OnClockBack ClockBackPolicy

	// Logger gets one record for each rare event and none for an ID; nil: slog.Default().
	// slog.New(slog.DiscardHandler) silences it. A handler must not wait for IDs of this generator.
	Logger *slog.Logger
	// Trace holds funcs that are called for rare events.
	Trace Trace
	// Now is the clock. The generator reads it for every ID, or call of Fill, possibly from several
	// goroutines at once. nil: the system clock, which the generator reads when a unit ends and at
	// least once a millisecond while it issues IDs, and carries on by the monotonic clock in
	// between. It notices a step of the clock, ahead or back, within that millisecond.
	Now func() time.Time
}

// Trace holds funcs for rare events; each may be nil. The goroutine that meets the event calls the
// func, under no lock, and waits for it; several may at once. It may be renewing the lease, so a
// func must not wait, take IDs or call Close: it starts a goroutine for that. A panic in a func is
// recovered and logged; a func must not call runtime.Goexit.
type Trace struct {
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

// Validate checks a Config as [New] does, without taking a worker ID. It reports all mistakes
// together, each as a [uidring.FieldError]; a method Unwrap() []error returns them.
func (cfg Config) Validate() error {
	_, err := cfg.resolve()
	return err
}

// resolve returns a Keeper that has not been started, and all mistakes.
func (cfg Config) resolve() (*keeper.Keeper, error) {
	k, c := keeper.New(keeper.Settings{
		Layout:        cfg.Layout,
		Epoch:         cfg.Epoch,
		DatacenterID:  cfg.DatacenterID,
		Assigner:      cfg.Assigner,
		AllowReuse:    cfg.AllowReuse,
		AssignTimeout: cfg.AssignTimeout,
		StartTimeout:  cfg.StartTimeout,
		Logger:        cfg.Logger,
		Now:           cfg.Now,
		Trace:         keeper.Trace(cfg.Trace),
		Package:       "defaultgen",
	})
	c.Check(cfg.OnClockBack == Fail || cfg.OnClockBack == GoOn, "OnClockBack", cfg.OnClockBack, "Fail, GoOn")
	if cfg.OnClockBack == GoOn {
		k.MaxAhead = math.MaxInt64
	}
	return k, c.Err()
}
