package keeper_test

import (
	"errors"
	"strings"
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

func unfenced(worker int64) assigner.Grant {
	return assigner.Grant{WorkerID: worker, First: 1, Last: assigner.Unlimited, Reusable: true}
}

// register fails the test when the worker ID is rejected and frees it when the test ends.
func register(t *testing.T, d assigner.Domain, g assigner.Grant) (*keeper.Registration, assigner.Grant) {
	t.Helper()
	hold, got, err := keeper.Register(d, g)
	testkit.Must(t, err)
	t.Cleanup(func() { hold.End(0) })
	return hold, got
}

func TestRegisterRejectsASecondLiveGenerator(t *testing.T) {
	d := ownDomain()
	want := assigner.Grant{WorkerID: 9, First: 17, Last: assigner.Unlimited, Guarantee: assigner.GuaranteeFresh, Reusable: true}
	first, got := register(t, d, want)
	if got != want {
		t.Errorf("grant %+v, want %+v", got, want)
	}
	same := d
	same.Epoch, same.Now = d.Epoch.In(time.FixedZone("UTC+8", 8*60*60)), nil
	for _, d := range []assigner.Domain{d, same} {
		hold, g, err := keeper.Register(d, unfenced(9))
		if hold != nil || g != (assigner.Grant{}) || !errors.Is(err, assigner.ErrWorkerInUse) || !strings.Contains(err.Error(), "worker 9 of datacenter 3;") {
			t.Fatalf("Register = %v, %+v, %v, want ErrWorkerInUse", hold, g, err)
		}
	}
	layout, epoch, datacenter := d, d, d
	layout.Layout, epoch.Epoch, datacenter.DatacenterID = bitsalloc.Baidu(), ownDomain().Epoch, 4
	for _, other := range []assigner.Domain{layout, epoch, datacenter} {
		register(t, other, unfenced(9))
	}
	register(t, d, unfenced(8))
	fenced := assigner.Grant{WorkerID: 9, First: 40, Last: 60, Guarantee: assigner.GuaranteeFenced, Reusable: true}
	for range 2 { // the store keeps them apart, by ranges of deltas
		if hold, got, err := keeper.Register(d, fenced); hold != nil || got != fenced || err != nil {
			t.Errorf("Register of a fenced grant = %v, %+v, %v, want nil, the grant, nil", hold, got, err)
		}
	}
	first.End(100)
	first.End(9999) // the second End does not count
	if _, g := register(t, same, unfenced(9)); g.First != 101 {
		t.Errorf("First = %d, want 101", g.First)
	}
	first.End(100) // does not free the successor
	if _, _, err := keeper.Register(d, unfenced(9)); !errors.Is(err, assigner.ErrWorkerInUse) {
		t.Errorf("Register: %v, want ErrWorkerInUse", err)
	}
	var none *keeper.Registration
	none.End(5)
}

func TestRegisterStartsASuccessorAboveItsPredecessor(t *testing.T) {
	for name, c := range map[string]struct {
		first, used int64 // of the predecessor
		next, want  int64 // First as the assigner grants it, and as Register returns it
	}{
		"far ahead of the grant":         {1, 1_000_000, 1, 1_000_001},
		"one below":                      {1, 100, 100, 101},
		"behind a later grant":           {1, 100, 5000, 5000},
		"less than the grant began with": {50, 20, 1, 50},
	} {
		d, g := ownDomain(), unfenced(9)
		g.First = c.first
		hold, _ := register(t, d, g)
		hold.End(c.used)
		g.First = c.next
		for range 2 { // it outlasts idle successors
			idle, got := register(t, d, g)
			if got.First != c.want {
				t.Errorf("%s: First = %d, want %d", name, got.First, c.want)
			}
			idle.End(0)
		}
	}
}

func TestRegistryIsUsedByManyGoroutines(t *testing.T) {
	d := ownDomain()
	testkit.Together(8, func(i int) {
		for range 100 {
			hold, _, err := keeper.Register(d, unfenced(int64(i/2)))
			if err != nil && !errors.Is(err, assigner.ErrWorkerInUse) {
				t.Error(err)
			}
			hold.End(1)
		}
	})
}
