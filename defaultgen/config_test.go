package defaultgen_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/gentest"
)

func TestEachMistakeIsNamed(t *testing.T) {
	for want, cfg := range map[string]defaultgen.Config{
		"OnClockBack 2, allowed: Fail, GoOn":    {OnClockBack: defaultgen.GoOn + 1},
		"OnClockBack -1, allowed: Fail, GoOn":   {OnClockBack: -1},
		"SequenceStart 2, allowed: Even, Zero":  {SequenceStart: defaultgen.Zero + 1},
		"SequenceStart -1, allowed: Even, Zero": {SequenceStart: -1},
	} {
		g, err := defaultgen.New(complete(cfg))
		if g != nil || !errors.Is(err, defaultgen.ErrInvalidConfig) || err.Error() != "uidring: invalid config: "+want {
			t.Errorf("New = %v, %v, want %s", g, err, want)
		}
	}
}

func TestEpochOfThisInstantIsAllowedAndUnitZeroIsLeftOut(t *testing.T) {
	for _, first := range []int64{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			var g *defaultgen.Generator
			if d := gentest.Elapsed(func() {
				g = open(t, defaultgen.Config{Epoch: gentest.Start, Assigner: &fakeassigner.Assigner{
					OnAssign: func(context.Context, int, assigner.Domain) (assigner.Grant, error) {
						return assigner.Grant{WorkerID: 0, First: first, Last: assigner.Unlimited - 1}, nil
					},
				}})
				checkAt(t, wait(t, g), 1, 0)
			}); d != time.Second {
				t.Errorf("the first ID took %v, want 1s", d)
			}
		})
	}
}

func TestReusedWorkerIsRefusedOnlyWhereIDsRunAhead(t *testing.T) {
	for _, row := range []struct {
		cfg     defaultgen.Config
		refused bool
	}{
		{defaultgen.Config{Assigner: reused()}, false},
		{defaultgen.Config{Assigner: reused(), OnClockBack: defaultgen.GoOn}, true},
		{defaultgen.Config{Assigner: reused(), OnClockBack: defaultgen.GoOn, AllowReuse: true}, false},
		{defaultgen.Config{OnClockBack: defaultgen.GoOn}, false}, // fresh
		{defaultgen.Config{Assigner: &fakeassigner.Assigner{OnAssign: fakeassigner.Fenced(10)}, OnClockBack: defaultgen.GoOn}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			if !row.refused {
				next(t, open(t, row.cfg))
				return
			}
			_, err := defaultgen.New(complete(row.cfg))
			for _, way := range []string{"OnClockBack Fail", "AllowReuse", "fresh or fenced"} {
				if !errors.Is(err, assigner.ErrUnfencedReuse) || !strings.Contains(err.Error(), way) {
					t.Errorf("New = %v, want ErrUnfencedReuse and the way out %q", err, way)
				}
			}
		})
	}
}
