package cached_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/gentest"
	"github.com/uidring/uidring/internal/test/testkit"
)

func TestMain(m *testing.M) {
	gentest.Main(m, func(epoch time.Time) (func() (int64, error), error) {
		g, err := cached.New(cached.Config{Epoch: epoch, Assigner: assigner.Static(7), MaxAhead: 2 * time.Second})
		return func() (int64, error) { return g.NextContext(context.Background()) }, err
	})
}

// Each process is killed when it is as far ahead of the clock as MaxAhead allows.
func TestRestartWithStaticWorkerIDRepeatsNoID(t *testing.T) { gentest.RestartsIncrease(t, 2, 16384) }

// TestFailoverRepeatsNoID issues the IDs of a full ring and loses the store. The copy that replaces
// the store is older: only a generator with a small ring had used it. Its quarantine must cover the
// large ring all the same.
func TestFailoverRepeatsNoID(t *testing.T) {
	for _, boost := range []int{3, 8} {
		if testing.Short() && boost == 3 {
			continue // the default: a smaller ring to cover
		}
		synctest.Test(t, func(t *testing.T) {
			on := func(dir string, boost int) cached.Config {
				return cached.Config{Layout: gentest.Narrow(), Epoch: bubbleEpoch(), BoostPower: boost,
					Assigner: assigner.Leased(fileassigner.LeaseStore(dir, fileassigner.Config{}), assigner.LeaseConfig{AllowUndurable: true})}
			}
			primary, standby := t.TempDir(), t.TempDir()
			testkit.Must(t, errors.Join(open(t, on(primary, 1)).Close(), os.CopyFS(standby, os.DirFS(primary))))
			lost := open(t, on(primary, boost))
			synctest.Wait()
			used := make(map[int64]bool)
			for _, id := range take(t, lost, lost.Stats().Remaining) {
				used[id] = true
			}
			next, err := cached.NewContext(t.Context(), on(standby, 1))
			testkit.Close(t, next, err)
			for range 2000 { // 33 minutes at the pace of the clock
				time.Sleep(time.Second)
				for _, id := range take(t, next, 16) {
					if used[id] {
						t.Fatalf("%v is issued twice", parse(t, next, id))
					}
				}
			}
		})
	}
}
