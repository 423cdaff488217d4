package keeper

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/check"
)

// Settings are the configuration that the generators with a worker ID share.
type Settings struct {
	Layout        bitsalloc.Layout
	Epoch         time.Time
	DatacenterID  int64
	Assigner      assigner.Assigner
	AllowReuse    bool          // takes an unfenced worker ID that comes back after a restart like a fresh one
	AssignTimeout time.Duration // bounds each claim, renewal and release
	StartTimeout  time.Duration // see StartContext
	Logger        *slog.Logger
	Now           func() time.Time // the user's clock
	Trace         Trace

	Package string // the prefix of errors
	// MaxAhead is how far, in units, the generator may run ahead of its clock; math.MaxInt64 if
	// there is no bound. With a bound an unfenced worker ID may come back after a restart: a lease
	// on it begins above the deltas that an earlier process may have used.
	MaxAhead int64
}

// Trace holds the user's funcs, nil or not.
type Trace struct {
	TakeRejected  func(uidring.TakeRejectedInfo)
	LeaseAssigned func(assigner.LeaseInfo)
	LeaseLost     func(assigner.LeaseInfo)
	RenewFailed   func(assigner.LeaseInfo)
	LeaseKept     func(assigner.LeaseInfo)
}

// New returns a Keeper with the defaults filled in, and a Checker with the mistakes in s. Alloc is
// nil if the layout or the epoch is wrong. Without mistakes the caller goes on with Start.
func New(s Settings) (*Keeper, *check.Checker) {
	c := &check.Checker{}
	//mutate:number an extra wake finds nothing due
	k := &Keeper{wake: make(chan struct{}, 1), report: report{leftOut: s.Layout == bitsalloc.Layout{}}}
	k.state.Store(&State{})
	s.Layout = cmp.Or(s.Layout, bitsalloc.Default())
	s.Layout.Unit = cmp.Or(s.Layout.Unit, time.Second) //mutate:argument,remove bitsalloc.New has the same default
	s.Epoch = cmp.Or(s.Epoch, bitsalloc.DefaultEpoch())
	k.claimTimeout = cmp.Or(s.AssignTimeout, 25*time.Second) // a claim among a thousand others on two CPUs takes 15 s
	s.AssignTimeout = cmp.Or(s.AssignTimeout, 10*time.Second)
	s.Logger = cmp.Or(s.Logger, slog.Default())
	if s.Now == nil {
		s.Now = time.Now
	}
	k.Settings = s
	c.Check(s.Assigner != nil, "Assigner", "nil", "an assigner such as sqlassigner.Leased, assigner.Leased on another "+
		"store, or without a store assigner.Static; no worker ID is safe by default")
	if v, ok := s.Assigner.(interface{ Validate() error }); ok {
		c.Join("Assigner", v.Validate())
	}
	c.Check(s.AssignTimeout >= time.Millisecond, "AssignTimeout", s.AssignTimeout, "at least 1ms, such as 10 * time.Second")
	c.Check(s.StartTimeout == 0 || s.StartTimeout >= time.Millisecond, "StartTimeout", s.StartTimeout, "at least 1ms, such as 30 * time.Second")
	now := s.Now()
	c.Check(!s.Epoch.After(now), "Epoch", s.Epoch.UTC(), "not in the future; it is %v by the clock of this host: correct the clock if that is wrong", now.UTC())
	_, err := bitsalloc.New(bitsalloc.Default(), s.Epoch)
	c.Add("Epoch", s.Epoch.UTC(), err)
	_, err = bitsalloc.New(s.Layout, bitsalloc.DefaultEpoch())
	c.Add("Layout", s.Layout, err)
	most := int64(1)<<min(s.Layout.DatacenterBits, 62) - 1 //mutate:number 63 bits make the same bound
	c.Check(s.DatacenterID >= 0 && s.DatacenterID <= most, "DatacenterID", s.DatacenterID, "0 to %d with layout %v", most, s.Layout)
	if k.Alloc, err = bitsalloc.New(s.Layout, s.Epoch); err == nil && k.Alloc.Delta(now) > k.Alloc.MaxDelta() {
		c.Add("Layout", s.Layout, k.Exhausted())
	}
	return k, c
}

// domain returns the domain that the assigner gets, with a func that reads the clock.
func (k *Keeper) domain(now func() int64) assigner.Domain {
	d := assigner.Domain{
		Layout:       k.Alloc.Layout(),
		Epoch:        k.Alloc.Epoch(),
		DatacenterID: k.DatacenterID,
		Now:          now,
		MaxAhead:     k.MaxAhead,
		Registered:   true,
	}
	if !k.AllowReuse && k.MaxAhead == math.MaxInt64 {
		d.ReuseError = fmt.Errorf("%w, and comes back after a restart: choose MaxAhead of package cached or OnClockBack Fail of defaultgen, which are "+
			"safe unless the clock goes back, or AllowReuse to take the risk, or use a worker ID that is fresh or fenced", assigner.ErrUnfencedReuse)
	}
	return d
}

// FirstID returns the ID of a unit and worker ID with sequence number 0.
func (k *Keeper) FirstID(delta, workerID int64) int64 {
	id, err := k.Alloc.Allocate(delta, k.DatacenterID, workerID, 0)
	if err != nil { //mutate:false callers pass deltas and worker IDs of the layout
		//mutate:remove the same
		panic(fmt.Sprintf("bug: %s: delta %d, worker ID %d: %v", k.Package, delta, workerID, err))
	}
	return id
}

// Exhausted returns ErrTimeExhausted with the layout that has ended and its end.
func (k *Keeper) Exhausted() error {
	return fmt.Errorf("%w: layout %v from epoch %s ends at %s; choose more DeltaBits or a later epoch; uidring migrate check tells whether IDs would repeat", uidring.ErrTimeExhausted,
		k.Alloc.Layout(), k.Alloc.Epoch().Format(time.RFC3339), k.Alloc.Expires().Format(time.RFC3339))
}

// NoUnit returns Exhausted for a lease that begins beyond the layout. If the clock has not reached
// the end, it adds the reason: MaxAhead, or an earlier holder.
func (k *Keeper) NoUnit() error {
	state, err := k.Latest(), k.Exhausted()
	switch {
	case state.Delta >= k.Alloc.MaxDelta():
		return err
	case !k.AllowReuse && state.Reused():
		return fmt.Errorf("%w; worker ID %d comes back after a restart, and so begins MaxAhead above the clock: choose a shorter one", err, state.WorkerID)
	}
	return fmt.Errorf("%w; worker ID %d has reached the end before the clock: by a holder far ahead, or by a Recover", err, state.WorkerID)
}
