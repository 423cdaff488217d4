package keeper_test

import (
	"errors"
	"fmt"
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

// register makes the command register.
func (w *script) register(words testkit.Words) (string, error) {
	hold, got, err := keeper.Register(w.registryDomain(words.Arg(4)), grant(words))
	if err != nil {
		if hold != nil || got != (assigner.Grant{}) {
			w.T.Errorf("%q: %v, %+v beside %v", words, hold, got, err)
		}
		return "", err
	}
	w.registrations[words.Arg(1)] = hold
	text := fmt.Sprintf("worker %d from %d, registered: %t", got.WorkerID, got.First, hold != nil)
	if got.First = words.Number(3); got != grant(words) {
		w.T.Errorf("%q: %+v", words, got)
	}
	return text, nil
}

// grant returns the grant of the command register.
func grant(words testkit.Words) assigner.Grant {
	g := assigner.Grant{WorkerID: words.Number(2), First: words.Number(3), Last: assigner.Unlimited,
		Guarantee: assigner.GuaranteeFresh, Reusable: true}
	if words.Arg(4) == "fenced" {
		g.Last, g.Guarantee = g.First+20, assigner.GuaranteeFenced
	}
	return g
}

// registryDomain returns the domain of the story, or the same with another field.
func (w *script) registryDomain(field string) assigner.Domain {
	d := w.domain
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
