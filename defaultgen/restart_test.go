package defaultgen_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/gentest"
	"github.com/uidring/uidring/internal/testkit/bubble"
	"github.com/uidring/uidring/internal/testkit/fakeassigner"
)

// restarted returns a layout that composes the same bits as Default for datacenter 0. The registry
// of the process takes its generators for strangers, as if they were in another process.
func restarted() bitsalloc.Layout { return bitsalloc.Baidu() }

func TestARestartWithinTheUnitRepeatsNoID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		epoch := gentest.NewEpoch()
		killed := open(t, defaultgen.Config{Layout: bitsalloc.Default(), Epoch: epoch, Assigner: reused()})
		old := fill(t, killed, 1000)
		time.Sleep(100 * time.Millisecond)
		g := open(t, defaultgen.Config{Layout: restarted(), Epoch: epoch, Assigner: reused()})
		gentest.CheckIncreasing(t, append(old, fill(t, g, 1000)...))
	})
}

// The package comment warns of this: a clock that was set back between two processes.
func TestAClockSetBackAcrossARestartIsNotNoticed(t *testing.T) {
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

// A fence gives each holder of a number its own deltas.
func TestAFencedWorkerIsSafeWhateverTheClockDidAcrossTheRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var by atomic.Int64
		fence := int64(0)
		grab := func(g *assigner.Grant, want int64) { // as a store would: nothing is handed out twice
			fence = max(fence+1, want)
			g.Limit = fence
		}
		store := &fakeassigner.Assigner{
			OnAssign: func(_ context.Context, _ int, d assigner.Domain) (assigner.Grant, error) {
				g := assigner.Grant{WorkerID: 7, First: fence + 1, Guarantee: assigner.GuaranteeFenced, Reusable: true}
				grab(&g, d.Now()+10)
				return g, nil
			},
			OnRenew: func(_ context.Context, g *assigner.Grant, _, want int64) error {
				if want > g.Limit {
					grab(g, want)
				}
				return nil
			},
		}
		epoch, seen := gentest.NewEpoch(), make(map[int64]bool)
		for _, step := range []time.Duration{0, 0, -2 * time.Second, -time.Hour, time.Hour} {
			by.Add(int64(step))
			g := open(t, defaultgen.Config{Epoch: epoch, Assigner: store, OnClockBack: defaultgen.GoOn, Now: gentest.Skewed(&by)})
			for range 100 {
				id := wait(t, g).ID
				if seen[id] {
					t.Errorf("ID %d twice, after a step of %v", id, step)
				}
				seen[id] = true
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// Within one process a successor starts above its predecessor, including the IDs that the
// predecessor took ahead of the clock.
func TestASuccessorInTheProcessStartsAbove(t *testing.T) {
	for name, a := range map[string]assigner.Assigner{
		"reused": reused(),
		"fresh": &fakeassigner.Assigner{OnAssign: func(context.Context, int, assigner.Domain) (assigner.Grant, error) {
			return assigner.Grant{WorkerID: 9, First: 1, Limit: assigner.Unlimited}, nil
		}},
	} {
		bubble.Run(t, name, func(t *testing.T) {
			var by atomic.Int64
			cfg := complete(defaultgen.Config{Assigner: a, OnClockBack: defaultgen.GoOn, AllowReuse: true, Now: gentest.Skewed(&by)})
			last := int64(0)
			for _, step := range []time.Duration{0, 0, -10 * time.Second, 0, time.Minute, -time.Hour, 0} {
				g, err := defaultgen.New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				if id := wait(t, g).ID; id <= last {
					t.Errorf("after a step of %v: ID %d, but its predecessor had %d", step, id, last)
				}
				by.Add(int64(step))
				for range 40 {
					last = wait(t, g).ID
				}
				if err := g.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A successor that comes at once waits for the next unit and not longer, even when its predecessor
// has used up this one.
func TestASuccessorWaitsForTheNextUnitOnly(t *testing.T) {
	for _, used := range []int{1, 15, 16} {
		synctest.Test(t, func(t *testing.T) {
			cfg := complete(defaultgen.Config{Assigner: reused()})
			g := open(t, cfg)
			fill(t, g, used)
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(300 * time.Millisecond)
			if d := gentest.Elapsed(func() { next(t, open(t, cfg)) }); d != 700*time.Millisecond {
				t.Errorf("after %d IDs of the unit the successor's first took %v, want 700ms", used, d)
			}
		})
	}
}

func TestMain(m *testing.M) {
	gentest.Main(m, func(epoch time.Time) (gentest.Generator, error) {
		return defaultgen.New(defaultgen.Config{Epoch: epoch, Assigner: assigner.Static(7)})
	})
}

// A real process with a static worker ID is killed as soon as it has printed IDs, and started again
// within the same second.
func TestAProcessThatIsKilledAndRestartedRepeatsNoID(t *testing.T) { gentest.Restarts(t, 3, 100) }
