package cached_test

import (
	"context"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/gentest"
)

func TestMain(m *testing.M) {
	gentest.Main(m, func(epoch time.Time) (func() (int64, error), error) {
		g, err := cached.New(cached.Config{Epoch: epoch, Assigner: assigner.Static(7), MaxAhead: 2 * time.Second})
		return func() (int64, error) { return g.NextContext(context.Background()) }, err
	})
}

// Each process is killed when it is as far ahead of the clock as MaxAhead allows.
func TestRestartWithStaticWorkerIDRepeatsNoID(t *testing.T) { gentest.RestartsIncrease(t, 2, 16384) }
