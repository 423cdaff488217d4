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

// The end of StartTimeout is not the end of a context of the caller.
func TestNewIsBoundedByStartTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := &fakeassigner.Assigner{OnAssign: func(ctx context.Context, _ int, _ assigner.Domain) (assigner.Grant, error) {
			<-ctx.Done()
			return assigner.Grant{}, ctx.Err()
		}}
		_, err := defaultgen.New(defaultgen.Config{Assigner: hangs, Epoch: time.Now().Add(-time.Minute), StartTimeout: time.Second})
		if err == nil || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "StartTimeout, 1s, is over") {
			t.Errorf("New = %v", err)
		}
	})
}
