package assignertest

import (
	"context"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
)

// patience bounds each call to the assigner under test.
const patience = 30 * time.Second

// A Store is what a case of the suite works on. Every case opens one of its own, which must be empty:
// no worker ID has been taken from it and no domain is pinned in it.
type Store struct {
	// Assigner returns a new assigner over the store, as another process would build it. Different
	// holders are to get different worker IDs; the same holder may get the same one again. For
	// RunKeyed the holder is the key. Required.
	Assigner func(holder string) assigner.Assigner
	// Guarantee and Reusable are what every grant must say.
	Guarantee assigner.Guarantee
	Reusable  bool
	// Delete removes the row of a worker ID behind the holder's back. Nil: there are no rows.
	Delete func(t *testing.T, workerID int64)
	// Pinned: the store refuses a domain with another layout, unit or epoch than that of its first
	// use.
	Pinned bool
}

// Domain returns the domain that the suite uses: the default layout and epoch, datacenter 0.
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

// assign takes a worker ID for a holder and ends the test if there is none to be had.
func assign(t *testing.T, a assigner.Assigner) assigner.Lease {
	t.Helper()
	l, err := tryAssign(t, a, Domain())
	if err != nil {
		t.Fatalf("Assign: %v", err)
	}
	return l
}

// tryAssign checks what holds for every answer: a lease or an error, and a number within its field.
func tryAssign(t *testing.T, a assigner.Assigner, d assigner.Domain) (assigner.Lease, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := a.Assign(ctx, d)
	switch {
	case err == nil && l == nil:
		t.Fatal("Assign returned neither a lease nor an error")
	case err != nil && l != nil:
		t.Errorf("Assign returned a lease and the error %v", err)
	case err == nil:
		if w := l.Grant().WorkerID; w < 0 || w > d.MaxWorkerID() {
			t.Errorf("worker %d, want 0 to %d", w, d.MaxWorkerID())
		}
	}
	return l, err
}

func renew(t *testing.T, l assigner.Lease) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	first := l.Grant().First
	return l.Renew(ctx, first, first+1)
}

func release(t *testing.T, l assigner.Lease) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := l.Release(ctx, l.Grant().First); err != nil {
		t.Fatalf("Release: %v", err)
	}
}
