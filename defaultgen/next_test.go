package defaultgen_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/fakeassigner"
)

// NextContext, too, issues each ID of a unit, and the error of Next says when the unit ends.
func TestErrorOfAUsedUnitTellsItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := open(t, defaultgen.Config{})
		first := wait(t, g)
		for sequence := range int64(15) {
			checkAt(t, wait(t, g), first.Delta, 1+sequence)
		}
		time.Sleep(300 * time.Millisecond)
		_, err := g.Next()
		if after, _ := uidring.RetryAfter(err); !errors.Is(err, defaultgen.ErrSequenceExhausted) || after != 700*time.Millisecond {
			t.Errorf("Next = %v, again after %v, want ErrSequenceExhausted and 700ms", err, after)
		}
	})
}

// A reading in the last unit of a grant is kept: the clock then goes back, and IDs do not.
func TestGoOnStaysInTheLastUnitOfAGrant(t *testing.T) {
	g, clock := onFakeClock(t, defaultgen.Config{OnClockBack: defaultgen.GoOn, Assigner: &fakeassigner.Assigner{OnAssign: fakeassigner.Fenced(10)}})
	clock.Advance(9 * time.Second)
	first := next(t, g)
	clock.Advance(-5 * time.Second)
	checkAt(t, next(t, g), first.Delta, first.Sequence+1)
}

// The assigner learns whether the generator may go ahead of its clock.
func TestAssignerLearnsThePolicy(t *testing.T) {
	for policy, want := range map[defaultgen.ClockBackPolicy]int64{defaultgen.Fail: 0, defaultgen.GoOn: math.MaxInt64} {
		var got assigner.Domain
		open(t, defaultgen.Config{OnClockBack: policy, Assigner: &fakeassigner.Assigner{
			OnAssign: func(ctx context.Context, n int, d assigner.Domain) (assigner.Grant, error) {
				got = d
				return fakeassigner.Fresh(ctx, n, d)
			}}})
		if got.MaxAhead != want {
			t.Errorf("policy %v: the assigner reads MaxAhead %d, want %d", policy, got.MaxAhead, want)
		}
	}
}
