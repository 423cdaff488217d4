package defaultgen_test

import (
	"context"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/gentest"
)

func TestMain(m *testing.M) {
	gentest.Main(m, func(epoch time.Time) (func() (int64, error), error) {
		g, err := defaultgen.New(defaultgen.Config{Epoch: epoch, Assigner: assigner.Static(7)})
		return func() (int64, error) { return g.NextContext(context.Background()) }, err
	})
}

// A real process with a static worker ID is killed as soon as it has printed IDs, and started again
// within the same second.
func TestProcessThatIsKilledAndRestartedRepeatsNoID(t *testing.T) {
	gentest.RestartsIncrease(t, 3, 100)
}
