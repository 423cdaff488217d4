package backdate_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/backdate"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/testgen"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

var past = bitsalloc.DefaultEpoch().Add(50 * time.Hour)

// layout has 2^bits IDs a second.
func layout(bits uint8) bitsalloc.Layout {
	return bitsalloc.Layout{DeltaBits: 31, WorkerBits: 12, SequenceBits: bits, Unit: time.Second}
}

// fresh returns a Generator with a worker ID of its own and 2^bits IDs a second.
func fresh(t *testing.T, bits uint8) *backdate.Generator {
	t.Helper()
	g, err := backdate.New(t.Context(), backdate.Config{Layout: layout(bits), Assigner: &fakeassigner.Assigner{}})
	testkit.Must(t, err)
	return g
}

// at returns an ID of an instant, which must be there.
func at(t *testing.T, g *backdate.Generator, instant time.Time) int64 {
	t.Helper()
	id, err := g.At(instant)
	if err != nil {
		t.Error(err)
	}
	return id
}

// Goroutines take all IDs of a unit together.
func TestAtIssuesEachIDOfAUnitOnce(t *testing.T) {
	const goroutines = 8
	for _, bits := range []uint8{0, 1, 2, 5, 13, 20} {
		g := fresh(t, bits)
		alloc := testgen.Allocator(t, layout(bits), bitsalloc.DefaultEpoch())
		var ids idset.Set
		testkit.Together(goroutines, func(i int) {
			for n := i; n < 1<<bits; n += goroutines {
				id := at(t, g, past.Add(time.Duration(n)%time.Second))
				ids.Once(t, id)
				if f, err := alloc.Parse(id); err != nil || !f.Time.Equal(past) || f.WorkerID != g.WorkerID() {
					t.Errorf("ID %d has the fields %v, %v, want %v of worker %d", id, f, err, past, g.WorkerID())
				}
			}
		})
		if _, err := g.At(past); !errors.Is(err, backdate.ErrUnitFull) {
			t.Errorf("with %d bits: %v after all IDs of the unit, want ErrUnitFull", bits, err)
		}
		at(t, g, past.Add(time.Second))
	}
}

// Rows are often imported in the order of their instants. The IDs of a second rise, and the first
// IDs of many seconds spread over all shards.
func TestAtRisesWithinAUnitAndSpreadsLowBits(t *testing.T) {
	const shards, units = 64, 64_000
	g := fresh(t, 13)
	var got [shards]int
	for unit := range units {
		var ids [4]int64
		for i := range ids {
			ids[i] = at(t, g, past.Add(time.Duration(unit)*time.Second))
		}
		if got[ids[0]%shards]++; !slices.IsSorted(ids[:]) {
			t.Fatalf("IDs of unit %d in the order of calls: %v", unit, ids)
		}
	}
	if fewest, most := slices.Min(got[:]), slices.Max(got[:]); fewest < units/shards/2 || most > units/shards*2 {
		t.Errorf("shards have %d to %d of %d rows, want about %d", fewest, most, units, units/shards)
	}
}

func TestAtOutsideTheSpan(t *testing.T) {
	g := fresh(t, 13)
	first, last := g.Span()
	if want := bitsalloc.DefaultEpoch().Add(time.Second); !first.Equal(want) {
		t.Errorf("the span begins at %v, want %v", first, want)
	}
	for at, ok := range map[time.Time]bool{
		first: true, last: true, last.Add(time.Second - 1): true,
		first.Add(-1): false, last.Add(time.Second): false, {}: false, last.AddDate(5000, 0, 0): false, time.Unix(first.Unix()+1<<61, 0): false,
	} {
		switch _, err := g.At(at); {
		case ok && err != nil:
			t.Error(err)
		case !ok && (!errors.Is(err, backdate.ErrOutOfSpan) || !strings.Contains(fmt.Sprint(err), first.String())):
			t.Errorf("at %v: %v, want ErrOutOfSpan with the span", at, err)
		}
	}
}

func TestNewReportsAllMistakes(t *testing.T) {
	cfg := backdate.Config{Epoch: time.Now().Add(time.Hour), DatacenterID: 32}
	_, err := backdate.New(t.Context(), cfg)
	err = errors.Join(err, cfg.Validate())
	for _, field := range []string{"Assigner", "Epoch", "DatacenterID"} {
		if !errors.Is(err, backdate.ErrInvalidConfig) || strings.Count(err.Error(), "uidring: invalid config: "+field+" ") != 2 {
			t.Errorf("New and Validate = %v, want the mistake of %s twice", err, field)
		}
	}
}

// A grant decides whether the past is unused, and bounds the span. The worker ID goes back in any
// case.
func TestNewNeedsAnUnusedPast(t *testing.T) {
	failure := errors.New("no answer")
	for name, c := range map[string]struct {
		grant assigner.Grant
		err   error
		want  error
	}{
		"fresh":          {grant: assigner.Grant{First: 1, Last: assigner.Unlimited, Guarantee: assigner.GuaranteeFresh}},
		"fenced":         {grant: assigner.Grant{First: 1, Last: 100, Guarantee: assigner.GuaranteeFenced}},
		"used before":    {grant: assigner.Grant{First: 2, Last: 1 << 27, Guarantee: assigner.GuaranteeFenced}, want: backdate.ErrNoPast},
		"lossy":          {grant: assigner.Grant{First: 1, Last: 1 << 27, Guarantee: assigner.GuaranteeLossy}, want: backdate.ErrNoPast},
		"sticky":         {grant: assigner.Grant{First: 1, Last: assigner.Unlimited, Guarantee: assigner.GuaranteeSticky}, want: backdate.ErrNoPast},
		"derived":        {grant: assigner.Grant{First: 0, Last: assigner.Unlimited, Guarantee: assigner.GuaranteeDerived}, want: backdate.ErrNoPast},
		"out of range":   {grant: assigner.Grant{WorkerID: 1 << 17, First: 1, Last: 9, Guarantee: assigner.GuaranteeFenced}, want: assigner.ErrWorkerOutOfRange},
		"assigner fails": {err: failure, want: failure},
		"no lease":       {want: assigner.ErrWorkerUnknown},
		"store replaced": {err: generator.Passing{Err: assigner.ErrQuarantined}, want: backdate.ErrNoPast},
		"all are held":   {err: generator.Passing{Err: assigner.ErrWorkersExhausted}, want: backdate.ErrNoPast},
		"far ahead":      {err: generator.Passing{Err: assigner.ErrWorkerAheadOfClock}, want: backdate.ErrNoPast},
	} {
		fake := &fakeassigner.Assigner{OnAssign: func(_ context.Context, _ int, d assigner.Domain) (assigner.Grant, error) {
			if !errors.Is(d.ReuseError, backdate.ErrNoPast) {
				t.Errorf("%s: reuse would be rejected with %v", name, d.ReuseError)
			}
			return c.grant, c.err
		}}
		g, err := backdate.New(t.Context(), backdate.Config{Assigner: fake})
		if _, passes := uidring.RetryAfter(err); passes || !errors.Is(err, c.want) || (g == nil) != (c.want != nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if g != nil {
			if _, last := g.Span(); last.Sub(bitsalloc.DefaultEpoch())/time.Second > time.Duration(c.grant.Last) {
				t.Errorf("%s: the span ends at %v, above the fence", name, last)
			}
		}
		if leased := c.grant != (assigner.Grant{}); leased != (fake.Releases.Load() == 1) {
			t.Errorf("%s: %d releases, want one of each lease", name, fake.Releases.Load())
		}
	}
}

func TestNewWaitsForItsStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(past))
		fake := &fakeassigner.Assigner{OnAssign: func(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
			if nth < 4 {
				return assigner.Grant{}, []error{io.ErrUnexpectedEOF, generator.Passing{Err: uidring.ErrClosed, After: 5 * time.Second}, io.EOF}[nth-1]
			}
			return fakeassigner.Fresh(ctx, nth, d)
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		_, late := backdate.New(ctx, backdate.Config{Assigner: fake})
		_, err := backdate.New(t.Context(), backdate.Config{Assigner: fake})
		if took := time.Since(began); !errors.Is(late, uidring.ErrClosed) || !errors.Is(late, context.DeadlineExceeded) || err != nil || took != 4*time.Second {
			t.Errorf("%v, then %v, after %v; want the error of the store until ctx ends, then a worker ID after a second", late, err, took)
		}
	})
}

// Recover raises all fences: which worker IDs the lost part of the store had given out is unknown.
func TestNewAfterRecoverHasNoPast(t *testing.T) {
	store := fileassigner.LeaseStore(testserver.DiskFolder(t), fileassigner.Config{})
	cfg := backdate.Config{Assigner: assigner.Auto(store, assigner.LeaseConfig{})}
	_, err := backdate.New(t.Context(), cfg)
	testkit.Must(t, err)
	testkit.Must(t, leasestore.Recover(t.Context(), store, leasestore.Recovery{Lead: time.Hour}))
	if _, err := backdate.New(t.Context(), cfg); !errors.Is(err, backdate.ErrNoPast) || !strings.Contains(err.Error(), "recovered") {
		t.Errorf("%v, want ErrNoPast with the reason", err)
	}
}
