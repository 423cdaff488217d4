package assignertest_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
)

// A counter is an example of a custom assigner: each worker ID is new, within one process.
type counter struct{ last atomic.Int64 }

func (c *counter) Assign(ctx context.Context, d assigner.Domain) (assigner.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n := c.last.Add(1)
	if n > d.MaxWorkerID() {
		return nil, fmt.Errorf("%w: there are %d", assigner.ErrWorkersExhausted, d.MaxWorkerID())
	}
	return &counted{grant: assigner.Grant{WorkerID: n, First: 1, Last: assigner.Unlimited, Guarantee: assigner.GuaranteeFresh}}, nil
}

type counted struct {
	grant assigner.Grant
	ended bool
}

func (c *counted) Grant() assigner.Grant { return c.grant }

func (c *counted) Renew(context.Context, assigner.Use) (assigner.Grant, error) {
	if c.ended {
		return c.grant, assigner.ErrWorkerRowLost
	}
	return c.grant, nil
}

func (c *counted) End(context.Context, assigner.Ending) error {
	c.ended = true
	return nil
}

var conformance func(t *testing.T)

func ExampleRun() {
	// In a file of yours that ends in _test.go.
	conformance = func(t *testing.T) {
		assignertest.Run(t, func(t *testing.T) assignertest.AssignerFixture {
			shared := new(counter) // an empty store for each case
			return assignertest.AssignerFixture{
				Assigner:  func(holder string) assigner.Assigner { return shared },
				Guarantee: assigner.GuaranteeFresh,
			}
		})
	}
}

func TestCounterConforms(t *testing.T) {
	ExampleRun()
	conformance(t)
}
