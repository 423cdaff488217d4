// Package segmenttest is the conformance suite for implementations of [segment.Source], in this
// module and elsewhere:
//
//	func TestConformance(t *testing.T) {
//		segmenttest.Run(t, segmenttest.Fixture{
//			Open: func(t *testing.T) segment.Source { return mine.Source(connect(t)) },
//		})
//	}
//
// [Run] checks a source. [Kills] kills its store and processes that use it, and counts every ID.
package segmenttest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/segment"
)

// patience bounds each wait of the suite.
const patience = 3 * time.Minute

// A Fixture describes a kind of source to the suite.
type Fixture struct {
	// Open returns a source on the store of the fixture, each time with a connection of its own.
	Open func(t *testing.T) segment.Source
	// Create creates a counter whose first ID is from 1 to Increment, for sources that do not
	// create counters. Nil: Advance creates them.
	Create func(t *testing.T, name string)
	// Increment is the Increment of the ranges; 0 counts as 1.
	Increment int64
}

func (f Fixture) delta() int64 { return max(f.Increment, 1) }

var counters atomic.Int64

// counter returns the name of a counter that no other test uses.
func (f Fixture) counter(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("counter%dx%08x", counters.Add(1), rand.Uint32()) // which every source allows
	if f.Create != nil {
		f.Create(t, name)
	}
	return name
}

// Run runs the conformance suite. The store must answer throughout.
func Run(t *testing.T, f Fixture) {
	for _, tt := range []struct {
		name string
		test func(t *testing.T, f Fixture, name string)
	}{
		{"RangesFollowEachOther", rangesFollow},
		{"RangesOfConcurrentCallsAreDisjoint", rangesAreDisjoint},
		{"CountersAreApart", countersAreApart},
		{"BadArgumentsChangeNothing", badArguments},
		{"ACallEndsWithItsContext", callEnds},
		{"ACounterThatIsUsedUpSaysSo", usedUp},
		{"RecoverSkipsAhead", recoverSkips},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, f, f.counter(t)) })
	}
}

// advance calls Advance, which must succeed with a range of n IDs.
func (f Fixture) advance(t *testing.T, s segment.Source, name string, n int64) segment.Range {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := s.Advance(ctx, name, n)
	if err != nil {
		t.Fatalf("Advance by %d: %v", n, err)
	}
	if r.Len() != n || max(r.Increment, 1) != f.delta() || r.First < 1 || r.Last != r.First+(n-1)*f.delta() {
		t.Fatalf("Advance by %d: range %v, want %d IDs from 1 up in steps of %d", n, r, n, f.delta())
	}
	return r
}

// after checks that a range begins right after another one.
func (f Fixture) after(t *testing.T, before, r segment.Range) {
	t.Helper()
	if r.First != before.Last+f.delta() {
		t.Errorf("range %v after %v, want no gap and no overlap", r, before)
	}
}

func rangesFollow(t *testing.T, f Fixture, name string) {
	one, other := f.Open(t), f.Open(t)
	r := f.advance(t, one, name, 1)
	if r.First > f.delta() {
		t.Errorf("the first ID is %d, want at most %d", r.First, f.delta())
	}
	for _, s := range []segment.Source{one, other, other, one, f.Open(t)} {
		for _, n := range []int64{1, 7, 1000, 1_000_000_007} {
			next := f.advance(t, s, name, n)
			f.after(t, r, next)
			r = next
		}
	}
}

func rangesAreDisjoint(t *testing.T, f Fixture, name string) {
	const goroutines, calls = 6, 40
	ranges := make([][]segment.Range, goroutines)
	// Without a deadline a store gives up after one of its own, which a busy machine may reach.
	patient, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	group, ctx := errgroup.WithContext(patient)
	for i := range ranges {
		s := f.Open(t)
		group.Go(func() error {
			for range calls {
				r, err := s.Advance(ctx, name, 1+rand.Int64N(100))
				if err != nil {
					return err
				}
				ranges[i] = append(ranges[i], r)
			}
			return nil
		})
	}
	testkit.Must(t, group.Wait())
	for i, list := range ranges {
		if !slices.IsSortedFunc(list, byFirst) {
			t.Errorf("ranges of goroutine %d do not increase: %v", i, list)
		}
	}
	all := slices.Concat(ranges...)
	slices.SortFunc(all, byFirst)
	for i := range all[1:] {
		f.after(t, all[i], all[i+1])
	}
}

func byFirst(a, b segment.Range) int { return cmp.Compare(a.First, b.First) }

func countersAreApart(t *testing.T, f Fixture, name string) {
	s := f.Open(t)
	f.advance(t, s, name, 1000)
	if r := f.advance(t, s, f.counter(t), 1); r.First > f.delta() {
		t.Errorf("a new counter begins at %d, want at most %d", r.First, f.delta())
	}
}

func badArguments(t *testing.T, f Fixture, name string) {
	s := f.Open(t)
	before := f.advance(t, s, name, 1)
	for _, n := range []int64{0, -1, math.MinInt64} {
		if r, err := s.Advance(t.Context(), name, n); err == nil {
			t.Errorf("Advance by %d: range %v, want an error", n, r)
		}
	}
	for _, name := range []string{"", strings.Repeat("x", 1000)} {
		if r, err := s.Advance(t.Context(), name, 1); err == nil {
			t.Errorf("Advance of counter %.10q: range %v, want an error", name, r)
		}
	}
	f.after(t, before, f.advance(t, s, name, 1))
}

func callEnds(t *testing.T, f Fixture, name string) {
	s := f.Open(t)
	before := f.advance(t, s, name, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := s.Advance(ctx, name, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Advance with a context that has ended: range %v, error %v, want context.Canceled", r, err)
	}
	if r := f.advance(t, s, name, 1); r.First <= before.Last {
		t.Errorf("range %v after %v", r, before)
	}
}

func usedUp(t *testing.T, f Fixture, name string) {
	s := f.Open(t)
	large := int64(1) << 62 / f.delta()
	before := f.advance(t, s, name, large)
	for range 3 {
		if r, err := s.Advance(t.Context(), name, large+large/2); !errors.Is(err, segment.ErrExhausted) {
			t.Fatalf("Advance beyond 2^63 - 1: range %v, error %v, want ErrExhausted", r, err)
		}
	}
	f.after(t, before, f.advance(t, s, name, large/2))
}

func recoverSkips(t *testing.T, f Fixture, name string) {
	s := f.Open(t)
	r := f.advance(t, s, name, 10)
	for _, above := range []int64{0, 5, 10_000, 10_001, 10_002, 1 << 40} {
		testkit.Must(t, segment.Recover(t.Context(), s, name, above))
		before := r
		r = f.advance(t, s, name, 1)
		if r.First <= above || r.First <= before.Last {
			t.Errorf("after %v, and Recover above %d: range %v", before, above, r)
		}
		if r.First > max(above, before.Last)+4*f.delta() {
			t.Errorf("after %v, and Recover above %d: range %v, which skips too much", before, above, r)
		}
	}
}
