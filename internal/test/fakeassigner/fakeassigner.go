// Package fakeassigner has an assigner whose answers tests decide.
package fakeassigner

import (
	"cmp"
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

	Oldest *atomic.Int64 // the highest delta of SetOldest; nil: the leases do not have that method
	Within time.Duration // RenewWithin of all leases; zero: an hour
	Named  string        // Namespace of all leases

	Assigns, Renewals, Releases atomic.Int64 // calls
}

// An AssignFunc answers the nth call of Assign, from 1 on.
type AssignFunc func(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error)

// Assign implements [assigner.Assigner].
func (a *Assigner) Assign(ctx context.Context, d assigner.Domain) (assigner.Lease, error) {
	answer := a.OnAssign
	if answer == nil {
		answer = Fresh
	}
	g, err := answer(ctx, int(a.Assigns.Add(1)), d)
	if err != nil {
		return nil, err
	}
	if a.Oldest != nil {
		return &agingLease{&Lease{a, g}}, nil
	}
	return &Lease{a, g}, nil
}

// A Lease is a lease of an Assigner.
type Lease struct {
	assigner *Assigner
	grant    assigner.Grant
}

// Grant implements [assigner.Lease].
func (l *Lease) Grant() assigner.Grant { return l.grant }

// Renew implements [assigner.Lease].
func (l *Lease) Renew(ctx context.Context, used, want int64) error {
	l.assigner.Renewals.Add(1)
	if l.assigner.OnRenew == nil {
		return nil
	}
	return l.assigner.OnRenew(ctx, &l.grant, used, want)
}

// Release implements [assigner.Lease].
func (l *Lease) Release(ctx context.Context, used int64) error {
	l.assigner.Releases.Add(1)
	if l.assigner.OnRelease == nil {
		return nil
	}
	return l.assigner.OnRelease(ctx, l.grant, used)
}

// RenewWithin returns the longest time between two renewals, see [assigner.Lease].
func (l *Lease) RenewWithin() time.Duration { return cmp.Or(l.assigner.Within, time.Hour) }

// An agingLease has SetOldest, see [assigner.Lease].
type agingLease struct{ *Lease }

func (l *agingLease) SetOldest(delta int64) {
	l.assigner.Oldest.Store(max(l.assigner.Oldest.Load(), delta))
}

// Namespace returns the namespace of the worker ID, see [assigner.Lease].
func (l *Lease) Namespace() string { return l.assigner.Named }

// Abandon reports that the holder has stopped using the lease, see [assigner.Domain].
func (l *Lease) Abandon() {
	if l.assigner.OnAbandon != nil {
		l.assigner.OnAbandon(l.grant)
	}
}

// Fresh gives the worker IDs from 1 on, without a fence.
func Fresh(_ context.Context, nth int, _ assigner.Domain) (assigner.Grant, error) {
	return assigner.Grant{WorkerID: int64(nth), First: 1, Limit: assigner.Unlimited, Guarantee: assigner.GuaranteeFresh}, nil
}

// Fenced gives the worker IDs from 1 on, for the current delta and the deltas after it, n together.
func Fenced(n int64) AssignFunc {
	return func(_ context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
		now := d.Now()
		return assigner.Grant{
			WorkerID: int64(nth), First: now, Limit: now + n - 1, Guarantee: assigner.GuaranteeFenced, Reusable: true,
		}, nil
	}
}

// Raise is an OnRenew that moves the fence to the delta asked for.
func Raise(_ context.Context, g *assigner.Grant, _, want int64) error {
	g.Limit = max(g.Limit, want)
	return nil
}
