package defaultgen_test

import (
	"context"
	"sync/atomic"

	"github.com/uidring/uidring/assigner"
)

// A script is a store of worker IDs that answers as a test decides. A func that is nil agrees to
// everything.
type script struct {
	assign  func(ctx context.Context, nth int64, d assigner.Domain) (assigner.Grant, error)
	renew   func(ctx context.Context, g *assigner.Grant, used, want int64) error
	release func(ctx context.Context, g assigner.Grant, used int64) error

	assigns, renewals, releases atomic.Int64
}

func (s *script) Assign(ctx context.Context, d assigner.Domain) (assigner.Lease, error) {
	g, err := s.assign(ctx, s.assigns.Add(1), d)
	if err != nil {
		return nil, err
	}
	return &scriptedLease{s, g}, nil
}

type scriptedLease struct {
	script *script
	grant  assigner.Grant
}

func (l *scriptedLease) Grant() assigner.Grant { return l.grant }

func (l *scriptedLease) Renew(ctx context.Context, used, want int64) error {
	l.script.renewals.Add(1)
	if l.script.renew == nil {
		return nil
	}
	return l.script.renew(ctx, &l.grant, used, want)
}

func (l *scriptedLease) Release(ctx context.Context, used int64) error {
	l.script.releases.Add(1)
	if l.script.release == nil {
		return nil
	}
	return l.script.release(ctx, l.grant, used)
}

// fresh numbers its workers from 1 on.
func fresh(_ context.Context, nth int64, _ assigner.Domain) (assigner.Grant, error) {
	return assigner.Grant{WorkerID: nth, First: 1, Limit: assigner.Unlimited, Guarantee: assigner.GuaranteeFresh}, nil
}

// fenced numbers its workers from 1 on, for the current delta and those after it, n together.
func fenced(n int64) func(context.Context, int64, assigner.Domain) (assigner.Grant, error) {
	return func(_ context.Context, nth int64, d assigner.Domain) (assigner.Grant, error) {
		now := d.Now()
		return assigner.Grant{
			WorkerID: nth, First: now, Limit: now + n - 1, Guarantee: assigner.GuaranteeFenced, Reusable: true,
		}, nil
	}
}

// raise is a Renew that moves the fence to where it is wanted.
func raise(_ context.Context, g *assigner.Grant, _, want int64) error {
	g.Limit = max(g.Limit, want)
	return nil
}
