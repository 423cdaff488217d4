package defaultgen_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/gentest"
)

// restarted returns a layout that composes the same bits as Default for datacenter 0. The registry
// of the process takes its generators for strangers, as if they were in another process.
func restarted() bitsalloc.Layout { return bitsalloc.Baidu() }

// The package comment warns of this: a clock that was set back between two processes.
func TestClockSetBackAcrossARestartIsNotNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var by atomic.Int64
		epoch := gentest.NewEpoch()
		killed := open(t, defaultgen.Config{Layout: bitsalloc.Default(), Epoch: epoch, Assigner: reused()})
		time.Sleep(time.Second)
		old := next(t, killed)
		by.Add(int64(-2 * time.Second))
		g := open(t, defaultgen.Config{Layout: restarted(), Epoch: epoch, Assigner: reused(), Now: gentest.Skewed(&by)})
		time.Sleep(time.Second)
		if id := next(t, g).ID; id != old.ID {
			t.Errorf("ID %d, want %d again: the warning in the package comment would be out of date", id, old.ID)
		}
	})
}

func TestMain(m *testing.M) {
	gentest.Main(m, func(epoch time.Time) (gentest.Generator, error) {
		return defaultgen.New(defaultgen.Config{Epoch: epoch, Assigner: assigner.Static(7)})
	})
}

// A real process with a static worker ID is killed as soon as it has printed IDs, and started again
// within the same second.
func TestProcessThatIsKilledAndRestartedRepeatsNoID(t *testing.T) { gentest.Restarts(t, 3, 100) }
