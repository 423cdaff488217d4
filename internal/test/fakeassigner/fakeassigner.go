// Package fakeassigner has an assigner whose answers tests decide.
package fakeassigner

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner"
)

// An Assigner is a store of worker IDs that answers as a test decides. A func that is nil agrees to
// everything, and OnAssign that is nil is Fresh.
type Assigner struct {
	OnAssign  AssignFunc
	OnRenew   func(ctx context.Context, g *assigner.Grant, used, want int64) error
	OnRelease func(ctx context.Context, g assigner.Grant, used int64) error
	OnAbandon func(g assigner.Grant)

	Oldest atomic.Int64  // the highest delta of Use.Oldest
	Within time.Duration // RenewWithin of all leases
	Named  string        // Namespace of all leases
	Undead bool          // leases go on after their end

	Assigns, Renewals, Releases atomic.Int64 // calls
}

// An AssignFunc answers the nth call of Assign, from 1 on. For the zero Grant, Assign returns
// neither a lease nor an error.
type AssignFunc func(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error)

// Assign implements [assigner.Assigner].
func (a *Assigner) Assign(ctx context.Context, d assigner.Domain) (assigner.Lease, error) {
	answer := a.OnAssign
	if answer == nil {
		answer = Fresh
	}
	g, err := answer(ctx, int(a.Assigns.Add(1)), d)
	if err != nil || g == (assigner.Grant{}) {
		return nil, err
	}
	g.RenewWithin, g.Namespace = a.Within, a.Named
	return &Lease{assigner: a, grant: g}, nil
}

// A Lease is a lease of an Assigner.
type Lease struct {
	assigner *Assigner
	grant    assigner.Grant
	ended    bool
}

// Grant implements [assigner.Lease].
func (l *Lease) Grant() assigner.Grant { return l.grant }

// Renew implements [assigner.Lease].
func (l *Lease) Renew(ctx context.Context, u assigner.Use) (assigner.Grant, error) {
	a := l.assigner
	a.Renewals.Add(1)
	a.Oldest.Store(max(a.Oldest.Load(), u.Oldest))
	switch {
	case l.ended && !a.Undead:
		return l.grant, assigner.ErrWorkerRowLost
	case a.OnRenew == nil:
		return l.grant, nil
	}
	err := a.OnRenew(ctx, &l.grant, u.Used, u.Want)
	return l.grant, err
}

// End implements [assigner.Lease].
func (l *Lease) End(ctx context.Context, e assigner.Ending) error {
	a, again := l.assigner, l.ended
	l.ended = true
	switch {
	case again && !a.Undead:
	case !e.Released && a.OnAbandon != nil:
		a.OnAbandon(l.grant)
	case e.Released:
		a.Releases.Add(1)
		if a.OnRelease != nil {
			return a.OnRelease(ctx, l.grant, e.Used)
		}
	}
	return nil
}

// Fresh gives the worker IDs from 1 on, without a fence.
func Fresh(_ context.Context, nth int, _ assigner.Domain) (assigner.Grant, error) {
	return assigner.Grant{WorkerID: int64(nth), First: 1, Last: assigner.Unlimited, Guarantee: assigner.GuaranteeFresh}, nil
}

// Fenced gives the worker IDs from 1 on, for the current delta and the deltas after it, n together.
func Fenced(n int64) AssignFunc {
	return func(_ context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
		now := d.Now()
		return assigner.Grant{
			WorkerID: int64(nth), First: now, Last: now + n - 1, Guarantee: assigner.GuaranteeFenced, Reusable: true,
		}, nil
	}
}
