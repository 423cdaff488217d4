package assignertest

import (
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
)

// patience bounds each call to the assigner under test.
const patience = 30 * time.Second

// An AssignerFixture is an empty store under test, on which no worker ID was taken and no domain is
// pinned. Every case opens one of its own.
type AssignerFixture struct {
	// Assigner returns a new assigner on the store, as another process would build it. Different
	// holders must get different worker IDs; the same holder may get the same worker ID again. For
	// RunKeyed the holder is the key. Required.
	Assigner func(holder string) assigner.Assigner
	// Guarantee and Reusable are the values that every grant must have.
	Guarantee assigner.Guarantee
	Reusable  bool
	// Delete removes the row of a worker ID without telling its holder. Nil: there are no rows.
	Delete func(t *testing.T, workerID int64)
	// Pinned: the store rejects a domain whose layout, unit or epoch differs from its first domain.
	Pinned bool
}

// Domain returns the domain of the suite: the default layout and epoch, datacenter 0.
func Domain() assigner.Domain {
	a, err := bitsalloc.New(bitsalloc.Default(), bitsalloc.DefaultEpoch())
	if err != nil {
		panic("bug: assignertest: " + err.Error())
	}
	return assigner.Domain{
		Layout: a.Layout(),
		Epoch:  a.Epoch(),
		Now:    func() int64 { return a.Delta(time.Now()) },
	}
}

// domainChanges returns a change of each field of the layout, and of the epoch, by name.
func domainChanges() map[string]func(*assigner.Domain) {
	return map[string]func(*assigner.Domain){
		"DeltaBits":      func(d *assigner.Domain) { d.Layout.DeltaBits-- },
		"DatacenterBits": func(d *assigner.Domain) { d.Layout.DatacenterBits-- },
		"WorkerBits":     func(d *assigner.Domain) { d.Layout.WorkerBits-- },
		"SequenceBits":   func(d *assigner.Domain) { d.Layout.SequenceBits-- },
		"Unit":           func(d *assigner.Domain) { d.Layout.Unit /= 2 },
		"Epoch":          func(d *assigner.Domain) { d.Epoch = d.Epoch.Add(time.Millisecond) },
	}
}

// withClock returns a domain with a clock for its layout and epoch.
func withClock(t *testing.T, d assigner.Domain) assigner.Domain {
	t.Helper()
	a, err := bitsalloc.New(d.Layout, d.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	d.Now = func() int64 { return a.Delta(time.Now()) }
	return d
}

// assign takes a worker ID, and ends the test on an error. During a quarantine it renews the leases
// in keep.
func assign(t *testing.T, a assigner.Assigner, keep ...assigner.Lease) assigner.Lease {
	t.Helper()
	return assignIn(t, a, Domain(), keep...)
}

// assignIn is assign with a domain.
func assignIn(t *testing.T, a assigner.Assigner, d assigner.Domain, keep ...assigner.Lease) assigner.Lease {
	t.Helper()
	l, err := tryAssign(t, a, d, keep...)
	if err != nil {
		t.Fatalf("Assign: %v", err)
	}
	return l
}

// tryAssign calls Assign and checks the rules for every result: a lease or an error, a worker ID
// within its field, and at least one delta.
func tryAssign(t *testing.T, a assigner.Assigner, d assigner.Domain, keep ...assigner.Lease) (assigner.Lease, error) {
	t.Helper()
	ctx, cancel := bounded(t)
	defer cancel()
	l, err := settle(ctx, a, d, func() {
		for _, kept := range keep {
			if err := renew(t, kept); err != nil {
				t.Fatalf("Renew of worker %d: %v", kept.Grant().WorkerID, err)
			}
		}
	})
	switch {
	case err == nil && l == nil:
		t.Fatal("Assign returned neither a lease nor an error")
	case err != nil && l != nil:
		t.Errorf("Assign returned a lease and the error %v", err)
	case err == nil:
		g := l.Grant()
		if g.WorkerID < 0 || g.WorkerID > d.MaxWorkerID() {
			t.Errorf("worker %d, want 0 to %d", g.WorkerID, d.MaxWorkerID())
		}
		if g.First > g.Limit {
			t.Errorf("grant for deltas %d to %d, want one at least", g.First, g.Limit)
		}
	}
	return l, err
}

func renew(t *testing.T, l assigner.Lease) error {
	t.Helper()
	ctx, cancel := bounded(t)
	defer cancel()
	first := l.Grant().First
	return l.Renew(ctx, first, first+1)
}

// wantRenewed checks that leases can be renewed.
func wantRenewed(t *testing.T, leases ...assigner.Lease) {
	t.Helper()
	for _, l := range leases {
		if err := renew(t, l); err != nil {
			t.Errorf("Renew of worker %d: %v", l.Grant().WorkerID, err)
		}
	}
}

func release(t *testing.T, l assigner.Lease) {
	t.Helper()
	ctx, cancel := bounded(t)
	defer cancel()
	if err := l.Release(ctx, l.Grant().First); err != nil {
		t.Fatalf("Release: %v", err)
	}
}
