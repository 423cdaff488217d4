package keeper_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/test/testkit"
)

// epochs numbers the domains that the tests have taken, since the registry lives as long as the
// process and tests run more than once in it.
var epochs atomic.Int64

// ownDomain returns a domain that no other test has registered anything in.
func ownDomain() assigner.Domain {
	d := assigner.Domain{Layout: bitsalloc.Default(), Epoch: bitsalloc.DefaultEpoch()}
	d.Epoch = d.Epoch.Add(time.Duration(epochs.Add(1)) * time.Millisecond)
	d.DatacenterID = 3
	return d
}

// register makes a command on the registry. It returns false for another one.
func (c command) register() bool {
	switch c.Arg(0) {
	case "register":
		hold, got, err := keeper.Register(c.registryDomain(c.Arg(4)), c.grant())
		if c.fails(err); err == nil {
			c.registrations[c.Arg(1)] = hold
			c.print("worker %d from %d, registered: %t", got.WorkerID, got.First, hold != nil)
			got.First = c.Number(3)
		}
		if err == nil && got != c.grant() || err != nil && (hold != nil || got != assigner.Grant{}) {
			c.t.Errorf("%q: %v, %+v beside %v", c.Words, hold, got, err)
		}
	case "end":
		c.registrations[c.Arg(1)].End(c.Number(2))
	default:
		return false
	}
	return true
}

// grant returns the grant of the command register.
func (c command) grant() assigner.Grant {
	g := assigner.Grant{WorkerID: c.Number(2), First: c.Number(3), Last: assigner.Unlimited,
		Guarantee: assigner.GuaranteeFresh, Reusable: true}
	if c.Arg(4) == "fenced" {
		g.Last, g.Guarantee = g.First+20, assigner.GuaranteeFenced
	}
	return g
}

// registryDomain returns the domain of the story, or the same with another field.
func (c command) registryDomain(field string) assigner.Domain {
	d := c.domain
	switch field {
	case "zone": // which makes no difference, and neither does Now
		d.Epoch, d.Now = d.Epoch.In(time.FixedZone("UTC+8", 8*60*60)), func() int64 { return 1 }
	case "layout":
		d.Layout = bitsalloc.Baidu()
	case "epoch":
		d.Epoch = ownDomain().Epoch
	case "datacenter":
		d.DatacenterID++
	}
	return d
}

func TestRegistryIsUsedByManyGoroutines(t *testing.T) {
	d := ownDomain()
	testkit.Together(8, func(i int) {
		for range 100 {
			hold, _, err := keeper.Register(d, assigner.Grant{WorkerID: int64(i / 2), First: 1, Last: assigner.Unlimited})
			if err != nil && !errors.Is(err, assigner.ErrWorkerInUse) {
				t.Error(err)
			}
			hold.End(1)
		}
	})
}
