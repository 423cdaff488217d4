package assignertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/test/together"
)

// holders is the number of holders in a case with many of them.
const holders = 20

// Run checks the rules that hold for every assigner. Each case calls open once.
func Run(t *testing.T, open func(t *testing.T) AssignerFixture) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, AssignerFixture)
	}{
		{"HoldersAtOnceGetDifferentWorkers", differentWorkers},
		{"GrantSaysWhatIsPromised", grantSays},
		{"WorkersBeyondTheLayoutAreRefused", beyondTheLayout},
		{"EndedContextIsAnError", endedContext},
		{"RenewKeepsALiveLease", renewKeeps},
		{"DeletedRowIsNoticed", deletedRow},
		{"AnotherDomainIsRefused", anotherDomain},
		{"ReleaseMayBeRepeated", releaseRepeated},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

func differentWorkers(t *testing.T, s AssignerFixture) {
	assigners := make([]assigner.Assigner, holders)
	for i := range assigners {
		assigners[i] = s.Assigner(holder(i))
	}
	assignAtOnce(t, assigners, patience)
}

// assignAtOnce takes a worker ID from each assigner at once, within a time, and checks that all
// differ.
func assignAtOnce(t *testing.T, assigners []assigner.Assigner, within time.Duration) {
	t.Helper()
	var taken sync.Map
	together.Run(len(assigners), func(i int) {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		l, err := settle(ctx, assigners[i], Domain(), nil)
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
	if g.First < 0 || g.First > g.Limit {
		t.Errorf("grant is for deltas %d to %d", g.First, g.Limit)
	}
	fenced := s.Guarantee == assigner.GuaranteeFenced || s.Guarantee == assigner.GuaranteeLossy
	if g.Fenced() != fenced {
		t.Errorf("grant with %v is fenced: %v, want %v", g.Guarantee, g.Fenced(), fenced)
	}
	if again := l.Grant(); again != g {
		t.Errorf("grant changed without a Renew: %+v, then %+v", g, again)
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

func renewKeeps(t *testing.T, s AssignerFixture) {
	l := assign(t, s.Assigner(holder(0)))
	assign(t, s.Assigner(holder(1)))
	before := l.Grant()
	for range 3 {
		if err := renew(t, l); err != nil {
			t.Fatalf("Renew: %v", err)
		}
	}
	after := l.Grant()
	if after.WorkerID != before.WorkerID {
		t.Errorf("worker %d after Renew, was %d", after.WorkerID, before.WorkerID)
	}
	if after.Limit < before.First+1 {
		t.Errorf("limit %d after Renew wanted %d", after.Limit, before.First+1)
	}
}

func deletedRow(t *testing.T, s AssignerFixture) {
	if s.Delete == nil {
		t.Skip("the store has no rows")
	}
	a := s.Assigner(holder(0))
	lost, other := assign(t, a), assign(t, s.Assigner(holder(1)))
	s.Delete(t, lost.Grant().WorkerID)
	if err := renew(t, lost); !errors.Is(err, assigner.ErrWorkerRowLost) {
		t.Errorf("Renew of a deleted row: %v, want ErrWorkerRowLost", err)
	}
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
	changes := domainChanges()
	changes["all"] = func(d *assigner.Domain) { d.Layout, d.Epoch = bitsalloc.Snowflake(), time.UnixMilli(1).UTC() }
	for name, change := range changes {
		d := Domain()
		change(&d)
		if _, err := tryAssign(t, s.Assigner(holder(1)), withClock(t, d)); !errors.Is(err, assigner.ErrLayoutMismatch) {
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
	release(t, l)
	if w := assign(t, a).Grant().WorkerID; w == used && !s.Reusable {
		t.Errorf("worker %d was given out again, and is not reusable", w)
	}
}

func holder(i int) string { return fmt.Sprintf("holder-%d", i) }
