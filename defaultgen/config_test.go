package defaultgen_test

import (
	"errors"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/defaultgen"
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

func TestNewIsBoundedByStartTimeout(t *testing.T) {
	gentest.StartTimeout(t, func(a assigner.Assigner, epoch time.Time, timeout time.Duration) error {
		_, err := defaultgen.New(defaultgen.Config{Assigner: a, Epoch: epoch, StartTimeout: timeout})
		return err
	})
}
