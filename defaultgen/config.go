package defaultgen

import (
	"errors"
	"log/slog"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/keeper"
)

// ErrInvalidConfig is returned by [New] for a mistake in the Config. The text names every field
// that is wrong, what was given and what is allowed.
var ErrInvalidConfig = errors.New("defaultgen: invalid config")

// A ClockBackPolicy says what happens when the clock is behind the last ID.
type ClockBackPolicy int

const (
	// Fail: every method returns a ClockBackError until the clock has caught up.
	Fail ClockBackPolicy = iota
	// Wait: NextContext waits for the clock when it is behind by no more than MaxClockBack. The
	// other methods do not wait, and fail.
	Wait
	// GoOn: the clock is carried on from its highest reading, at the pace of the monotonic clock,
	// until it has caught up. IDs are ahead of the clock by as much as it went back. With a fenced
	// worker ID, a reading that was wrong by years leads to ErrLeaseExhausted and is forgotten;
	// with others it is kept until the process ends.
	GoOn
)

// A SequenceStart says with which sequence number a unit begins. With few IDs in a unit and all
// units beginning with 0, most IDs are multiples of a power of two, and sharding by ID modulo an
// even number leaves shards empty.
type SequenceStart int

const (
	// Even spreads IDs over any number of shards up to a quarter of 2^SequenceBits, at the rate of
	// one ID in many units as at many IDs in a unit, and costs a busy generator no ID. The first
	// unit begins with 0, and so does each unit after one that issued more than half of its
	// numbers. Every other unit begins in the first quarter of the numbers: after the last number
	// of the unit before, and further ahead after a unit of few IDs, so that IDs at a regular pace
	// spread, too. So a unit has all 2^SequenceBits IDs under continuous load, and three quarters
	// of them at least when it is the first busy one.
	//
	// Shares of powers of two up to 2^SequenceBits / 128, at most 64, are equal at any pace; of
	// larger ones at a regular pace of at most one ID in a unit. Shares of other numbers differ by
	// a few per cent, or as in a fair draw where that is more.
	Even SequenceStart = iota
	// Zero: each unit begins with 0.
	Zero
	// Random: each unit begins with a random number below SequenceBound. It suits any number of
	// shards, less evenly than Even does.
	Random
	// Continue: each unit goes on after the last sequence number, modulo SequenceBound. That is
	// exactly even for a number of shards that is a power of two and no larger than SequenceBound.
	Continue
)

// A Config says how to make a Generator. The zero value of each field but Assigner is its default.
type Config struct {
	// Layout is how the bits are shared out; zero: [bitsalloc.Default].
	Layout bitsalloc.Layout
	// Epoch is the instant that deltas count from, with whole milliseconds, not in the future;
	// zero: [bitsalloc.DefaultEpoch]. All services that write to one table must agree on it.
	Epoch time.Time
	// DatacenterID is the value of the datacenter field, from 0 to 2^DatacenterBits - 1.
	DatacenterID int64
	// Assigner finds the worker ID. It is required: there is no safe default.
	Assigner assigner.Assigner
	// AllowReuse accepts, under GoOn, an unfenced worker ID that comes back after a restart.
	AllowReuse bool
	// AssignTimeout bounds each call to the store of worker IDs; zero: 10 s.
	AssignTimeout time.Duration

	// OnClockBack says what happens when the clock goes back; zero: Fail. A leased worker ID that
	// comes back soon after its last use begins up to two windows ahead of the clock, which is the
	// same: choose GoOn for those.
	OnClockBack ClockBackPolicy
	// MaxClockBack is how far back the clock may be for Wait to wait; zero: 1 s. It bounds each
	// look at the clock, not the wait of a caller whose clock keeps going back.
	MaxClockBack time.Duration
	// SequenceStart says where the sequence of a unit begins; zero: Even.
	SequenceStart SequenceStart
	// SequenceBound is the bound of Random and Continue, 1 to 2^SequenceBits; zero: an eighth of
	// that, at least 1. A unit may have up to SequenceBound - 1 IDs less. Even and Zero ignore it.
	SequenceBound int64

	// Logger gets one record for each rare event, none on the way of an ID; nil: none.
	Logger *slog.Logger
	// Trace holds funcs that are called for rare events.
	Trace Trace
	// Now is the clock, read for every ID. It may be called by several goroutines at once. nil: the
	// system clock, which is read when a unit ends and at least once a millisecond while IDs are
	// issued, and carried on by the monotonic clock in between. A step of the clock, ahead or back,
	// is noticed within that millisecond.
	Now func() time.Time
}

// Trace holds funcs for rare events; each may be nil. They are called by the goroutine that met the
// event, possibly several at once, under no lock. A panic in one is recovered and logged.
type Trace struct {
	// TakeRejected is called when a method returns an error instead of an ID, other than ErrClosed.
	TakeRejected func(err error)
	// Expiring is called once, when less than a year is left until the delta field is used up: by
	// New, or by the first call that issues an ID of that year.
	Expiring func(expires time.Time)
	// LeaseAssigned is called when a worker ID was taken: by New, and after one was lost.
	LeaseAssigned func(assigner.Grant)
	// LeaseLost is called when the lease on the worker ID has ended. The generator takes another. A
	// grant with a fence is used up meanwhile, unless the store may hand it out again.
	LeaseLost func(workerID int64, err error)
	// RenewFailed is called when a call to the store of worker IDs failed. It is tried again.
	RenewFailed func(err error)
	// LeaseKept is called when the store answers again after that, and the worker ID is still this
	// generator's.
	LeaseKept func(workerID int64)
}

// resolve fills in the defaults and reports all mistakes together.
func (cfg Config) resolve() (Config, *bitsalloc.Allocator, error) {
	keeper.Default(&cfg.MaxClockBack, time.Second)
	c := &keeper.Checker{Sentinel: ErrInvalidConfig}
	settings := cfg.settings()
	alloc := settings.Resolve(c, ErrTimeExhausted)
	cfg.AssignTimeout, cfg.Logger, cfg.Now = settings.AssignTimeout, settings.Logger, settings.Now
	c.Check(cfg.OnClockBack >= Fail && cfg.OnClockBack <= GoOn, "OnClockBack %d, allowed: Fail, Wait, GoOn", cfg.OnClockBack)
	c.Check(cfg.MaxClockBack > 0, "MaxClockBack %v, allowed: more than 0", cfg.MaxClockBack)
	c.Check(cfg.SequenceStart >= Even && cfg.SequenceStart <= Continue, "SequenceStart %d, allowed: Even, Zero, Random, Continue", cfg.SequenceStart)
	if alloc != nil {
		ids := alloc.MaxSequence() + 1
		keeper.Default(&cfg.SequenceBound, max(ids/8, 1))
		c.Check(cfg.SequenceBound >= 1 && cfg.SequenceBound <= ids, "SequenceBound %d, allowed with layout %v: 1 to %d",
			cfg.SequenceBound, alloc.Layout(), ids)
	}
	return cfg, alloc, c.Err()
}

// settings are the fields that every generator has.
func (cfg Config) settings() keeper.Settings {
	return keeper.Settings{
		Layout:        cfg.Layout,
		Epoch:         cfg.Epoch,
		DatacenterID:  cfg.DatacenterID,
		Assigner:      cfg.Assigner,
		AssignTimeout: cfg.AssignTimeout,
		Logger:        cfg.Logger,
		Now:           cfg.Now,
	}
}
