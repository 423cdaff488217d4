package assignertest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/test/testkit"
)

// An AssignerFixture is an empty store under test, on which no worker ID was taken and no domain is
// pinned. Every case opens one of its own.
type AssignerFixture struct {
	// Assigner returns a new assigner on the store, as another process would build it. Different
	// holders must get different worker IDs; the same holder may get the same worker ID again. With
	// [assigner.GuaranteeSticky] the holder is the key. Required.
	Assigner func(holder string) assigner.Assigner
	// Guarantee and Reusable are the values that every grant must have.
	Guarantee assigner.Guarantee
	Reusable  bool
	// Delete removes the row of a worker ID without telling its holder. Nil: there are no rows.
	Delete func(t *testing.T, workerID int64)
	// Pinned: the store rejects a domain whose layout, unit or epoch differs from its first domain.
	Pinned bool
}

// Run checks the rules that hold for every assigner. One with [assigner.GuaranteeSticky] must also
// keep a worker ID for each key: the last process that starts with a key has its worker ID, and
// Renew of the others fails. Each case calls open once.
func Run(t *testing.T, open func(t *testing.T) AssignerFixture) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, AssignerFixture)
	}{
		{"HoldersAtOnceGetDifferentWorkers", differentWorkers},
		{"GrantSaysWhatIsPromised", grantSays},
		{"WorkersBeyondTheLayoutAreRefused", beyondTheLayout},
		{"EndedContextIsAnError", endedContext},
		{"DeletedRowIsNoticed", deletedRow},
		{"AnotherDomainIsRefused", anotherDomain},
		{"ReleaseMayBeRepeated", releaseRepeated},
		{"KeysThatLookAlikeGetDifferentWorkers", alike},
		{"LastStarterOfAKeyHasItsWorker", lastStarter},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

func differentWorkers(t *testing.T, s AssignerFixture) {
	const holders = 20
	assignAtOnce(t, holders, func(i int) assigner.Assigner { return s.Assigner(holder(i)) })
}

// assignAtOnce takes n worker IDs at once, and checks that all differ.
func assignAtOnce(t *testing.T, n int, open func(i int) assigner.Assigner) {
	t.Helper()
	assigners := make([]assigner.Assigner, n)
	for i := range assigners {
		assigners[i] = open(i)
	}
	var taken sync.Map
	testkit.Together(n, func(i int) {
		l, err := tryAssign(t, assigners[i], Domain())
		if err != nil {
			t.Errorf("Assign for holder %d: %v", i, err)
			return
		}
		if j, twice := taken.LoadOrStore(l.Grant().WorkerID, i); twice {
			t.Errorf("holders %v and %d both have worker %d", j, i, l.Grant().WorkerID)
		}
	})
}

func grantSays(t *testing.T, s AssignerFixture) {
	l := assign(t, s.Assigner(holder(0)))
	g := l.Grant()
	if g.Guarantee != s.Guarantee || g.Reusable != s.Reusable {
		t.Errorf("grant is %v, reusable %v; want %v, %v", g.Guarantee, g.Reusable, s.Guarantee, s.Reusable)
	}
	fenced := s.Guarantee == assigner.GuaranteeFenced || s.Guarantee == assigner.GuaranteeLossy
	if g.Fenced() != fenced {
		t.Errorf("grant with %v is fenced: %v, want %v", g.Guarantee, g.Fenced(), fenced)
	}
	if again := l.Grant(); again != g {
		t.Errorf("grant changed without a Renew: %+v, then %+v", g, again)
	}
	for range 3 {
		wantRenewed(t, l)
	}
	if after := l.Grant(); after.WorkerID != g.WorkerID || after.Last < g.First+1 {
		t.Errorf("grant %+v after Renew wanted %d, was %+v", after, g.First+1, g)
	}
}

// beyondTheLayout asks for one worker ID more than a field of two bits holds.
func beyondTheLayout(t *testing.T, s AssignerFixture) {
	d := Domain()
	d.Layout.WorkerBits = 2
	seen := make(map[int64]bool)
	refused := 0
	for i := range d.MaxWorkerID() + 2 {
		l, err := tryAssign(t, s.Assigner(holder(int(i))), d)
		switch {
		case errors.Is(err, assigner.ErrWorkersExhausted), errors.Is(err, assigner.ErrWorkerOutOfRange):
			refused++
		case err != nil:
			t.Fatalf("Assign: %v; want ErrWorkersExhausted or ErrWorkerOutOfRange", err)
		case seen[l.Grant().WorkerID]:
			t.Errorf("worker %d was given to two holders", l.Grant().WorkerID)
		default:
			seen[l.Grant().WorkerID] = true
		}
	}
	if refused == 0 {
		t.Error("no holder was refused")
	}
}

func endedContext(t *testing.T, s AssignerFixture) {
	a := s.Assigner(holder(0))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for _, ctx := range []context.Context{cancelled, late} {
		if l, err := a.Assign(ctx, Domain()); !errors.Is(err, ctx.Err()) || l != nil {
			t.Errorf("Assign returned %v, %v; want no lease and %v", l, err, ctx.Err())
		}
	}
}

func deletedRow(t *testing.T, s AssignerFixture) {
	if s.Delete == nil {
		t.Skip("the store has no rows")
	}
	a := s.Assigner(holder(0))
	lost, other := assign(t, a), assign(t, s.Assigner(holder(1)))
	s.Delete(t, lost.Grant().WorkerID)
	wantLost(t, lost)
	wantRenewed(t, other)
	if w := assign(t, a).Grant().WorkerID; w == lost.Grant().WorkerID || w == other.Grant().WorkerID {
		t.Errorf("worker %d was given out again; %d was lost, %d is held", w, lost.Grant().WorkerID, other.Grant().WorkerID)
	}
}

func anotherDomain(t *testing.T, s AssignerFixture) {
	if !s.Pinned {
		t.Skip("the store pins no domain")
	}
	assign(t, s.Assigner(holder(0)))
	for name, change := range map[string]func(*assigner.Domain){
		"DeltaBits":      func(d *assigner.Domain) { d.Layout.DeltaBits-- },
		"DatacenterBits": func(d *assigner.Domain) { d.Layout.DatacenterBits-- },
		"WorkerBits":     func(d *assigner.Domain) { d.Layout.WorkerBits-- },
		"SequenceBits":   func(d *assigner.Domain) { d.Layout.SequenceBits-- },
		"Unit":           func(d *assigner.Domain) { d.Layout.Unit /= 2 },
		"Epoch":          func(d *assigner.Domain) { d.Epoch = d.Epoch.Add(time.Millisecond) },
	} {
		d := Domain()
		change(&d)
		if _, err := tryAssign(t, s.Assigner(holder(1)), d); !errors.Is(err, assigner.ErrLayoutMismatch) {
			t.Errorf("Assign with another %s: %v, want ErrLayoutMismatch", name, err)
		}
	}
	assign(t, s.Assigner(holder(1)))
}

func releaseRepeated(t *testing.T, s AssignerFixture) {
	a := s.Assigner(holder(0))
	l := assign(t, a)
	used := l.Grant().WorkerID
	release(t, l)
	wantLost(t, l)
	release(t, l)
	abandoned := assign(t, s.Assigner(holder(1)))
	if err := abandoned.End(t.Context(), assigner.Ending{}); err != nil {
		t.Errorf("End without a release: %v", err)
	}
	wantLost(t, abandoned)
	if w := assign(t, a).Grant().WorkerID; w == used && !s.Reusable {
		t.Errorf("worker %d was given out again, and is not reusable", w)
	}
}

func holder(i int) string { return fmt.Sprintf("holder-%d", i) }

// needsKeys skips a case for assigners without keys.
func (s AssignerFixture) needsKeys(t *testing.T) {
	t.Helper()
	if s.Guarantee != assigner.GuaranteeSticky {
		t.Skip("the assigner has no keys")
	}
}

func alike(t *testing.T, s AssignerFixture) {
	s.needsKeys(t)
	seen := make(map[int64]string)
	for _, key := range []string{"orders", "Orders", "ORDERS", "örders", "orders-", "orders/1", "orders%", "orders'", "o rders"} {
		w := assign(t, s.Assigner(key)).Grant().WorkerID
		if other, twice := seen[w]; twice {
			t.Errorf("keys %q and %q both have worker %d", other, key, w)
		}
		seen[w] = key
	}
}

// lastStarter checks two hosts with one key, such as the address of the first container on Docker's
// default bridge. An assigner cannot tell them apart from a host that starts again after a crash,
// but it can end the first host's lease. The worker ID stays with the key.
func lastStarter(t *testing.T, s AssignerFixture) {
	s.needsKeys(t)
	const key = "172.17.0.2:02:42:ac:11:00:02"
	first := assign(t, s.Assigner(key))
	assign(t, s.Assigner("another key"))
	for _, after := range []string{"a start beside the first", "a release"} {
		next := assign(t, s.Assigner(key))
		if a, b := first.Grant().WorkerID, next.Grant().WorkerID; a != b {
			t.Errorf("worker %d, after %s worker %d", a, after, b)
		}
		wantLost(t, first)
		release(t, first)
		wantRenewed(t, next)
		release(t, next)
	}
}

// bounded returns a context with the deadline for a call to the assigner or the store under test.
func bounded(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), testkit.Patience)
}

// Domain returns the domain of the suite: the default layout and epoch, datacenter 0, and no bound
// on how far the generator runs ahead.
func Domain() assigner.Domain {
	a, err := bitsalloc.New(bitsalloc.Default(), bitsalloc.DefaultEpoch())
	if err != nil {
		panic("bug: assignertest: " + err.Error())
	}
	return assigner.Domain{
		Layout: a.Layout(),
		Epoch:  a.Epoch(),
		Now:    func() int64 { return a.Delta(time.Now()) },

		MaxAhead: math.MaxInt64,
	}
}

// assign takes a worker ID, and ends the test on an error.
func assign(t *testing.T, a assigner.Assigner) assigner.Lease {
	t.Helper()
	l, err := tryAssign(t, a, Domain())
	if err != nil {
		t.Fatalf("Assign: %v", err)
	}
	return l
}

// tryAssign calls Assign and checks the rules for every result: a lease or an error, a worker ID
// within its field, and at least one delta.
func tryAssign(t *testing.T, a assigner.Assigner, d assigner.Domain) (assigner.Lease, error) {
	t.Helper()
	ctx, cancel := bounded(t)
	defer cancel()
	l, err := settle(ctx, a, d)
	if err == nil && l == nil {
		return nil, errors.New("neither a lease nor an error")
	}
	if err != nil {
		if l != nil {
			t.Errorf("Assign returned a lease and the error %v", err)
		}
		return nil, err
	}
	g := l.Grant()
	if g.WorkerID < 0 || g.WorkerID > d.MaxWorkerID() {
		t.Errorf("worker %d, want 0 to %d", g.WorkerID, d.MaxWorkerID())
	}
	if g.First < 1 || g.First > g.Last {
		t.Errorf("grant for deltas %d to %d, want one at least, from 1 up; without a fence Last is Unlimited", g.First, g.Last)
	}
	return l, nil
}

// settle calls Assign, and again after a quarantine.
func settle(ctx context.Context, a assigner.Assigner, d assigner.Domain) (assigner.Lease, error) {
	for {
		l, err := a.Assign(ctx, d)
		held, ok := err.(interface{ RetryAfter() time.Duration })
		if !ok || !errors.Is(err, assigner.ErrQuarantined) {
			return l, err
		}
		if !testkit.Pause(ctx, held.RetryAfter()) {
			return nil, errors.Join(err, ctx.Err())
		}
	}
}

// renew asks for a delta more than a fence allows now. A grant without a fence has no such delta.
func renew(t *testing.T, l assigner.Lease) error {
	t.Helper()
	ctx, cancel := bounded(t)
	defer cancel()
	used := l.Grant().First
	if l.Grant().Fenced() {
		used = l.Grant().Last
	}
	_, err := l.Renew(ctx, assigner.Use{Used: used, Want: used + 1})
	return err
}

func wantRenewed(t *testing.T, l assigner.Lease) {
	t.Helper()
	if err := renew(t, l); err != nil {
		t.Errorf("Renew of worker %d: %v", l.Grant().WorkerID, err)
	}
}

// wantLost checks that a renewal ends the lease, returns its error again, and leaves the grant
// unchanged.
func wantLost(t *testing.T, l assigner.Lease) {
	t.Helper()
	before := l.Grant()
	for range 2 {
		if err := renew(t, l); !errors.Is(err, assigner.ErrWorkerRowLost) {
			t.Errorf("Renew: %v, want ErrWorkerRowLost", err)
		}
	}
	if after := l.Grant(); after != before {
		t.Errorf("grant %+v, was %+v", after, before)
	}
}

func release(t *testing.T, l assigner.Lease) {
	t.Helper()
	end(t, l, l.Grant().First)
}

// end releases a lease whose holder has issued IDs of deltas up to used.
func end(t *testing.T, l assigner.Lease, used int64) {
	t.Helper()
	ctx, cancel := bounded(t)
	defer cancel()
	if err := l.End(ctx, assigner.Ending{Released: true, Used: used}); err != nil {
		t.Fatalf("End: %v", err)
	}
}
