package uidringtest

import (
	"context"

	"github.com/uidring/uidring/assigner"
)

// Worker returns an assigner that gives each generator the same worker ID, from its first unit of
// time on. It remembers nothing: generators of different tests, and of one, may issue equal IDs. A
// generator refuses a worker ID that its layout does not have.
func Worker(workerID int64) assigner.Assigner { return worker(workerID) }

type worker int64

func (w worker) Assign(_ context.Context, d assigner.Domain) (assigner.Lease, error) {
	// A fence at the end of the layout: the process keeps no record of fenced worker IDs.
	last := min(1<<d.Layout.DeltaBits-1, assigner.Unlimited-1)
	return lease{assigner.Grant{
		WorkerID: int64(w), First: 1, Last: last, Guarantee: assigner.GuaranteeFenced, Reusable: true,
	}}, nil
}

type lease struct{ grant assigner.Grant }

func (l lease) Grant() assigner.Grant { return l.grant }

func (l lease) Renew(context.Context, assigner.Use) (assigner.Grant, error) { return l.grant, nil }

func (lease) End(context.Context, assigner.Ending) error { return nil }
