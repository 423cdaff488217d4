package cached_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/testkit"
)

// A block after a pause, a lease or at a lane begins at the sequence number of generator.Scatter,
// and any other block with 0.
func TestBlocksBeginWhereScatterSays(t *testing.T) {
	layout := bitsalloc.Layout{DeltaBits: 28, DatacenterBits: 5, WorkerBits: 17, SequenceBits: 9, Unit: time.Second}
	const ids = 1 << 9
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		g := inBubble(t, cached.Config{Layout: layout, OnEmpty: cached.Reject, Assigner: &fakeassigner.Assigner{
			OnAssign: func(ctx context.Context, n int, d assigner.Domain) (assigner.Grant, error) {
				if down.Load() {
					return assigner.Grant{}, errors.New("store is down")
				}
				return fresh(ctx, n, d)
			}}})
		at := func(when string, scattered bool, id int64, err error) {
			t.Helper()
			testkit.Must(t, err)
			first := id &^ (ids - 1)
			if want := generator.Scatter(first, 9); id-first != want && scattered || id != first && !scattered {
				t.Errorf("%s: sequence number %d, scattered: %t to %d", when, id-first, scattered, want)
			}
			synctest.Wait()
		}
		rest := func(next func() (int64, error)) { // of a block
			t.Helper()
			for id := int64(0); id&(ids-1) != ids-1; {
				var err error
				id, err = next()
				testkit.Must(t, err)
			}
		}
		ask := func(when string, scattered bool, next func() (int64, error)) {
			t.Helper()
			id, err := next()
			at(when, scattered, id, err)
		}
		ask("at first", true, g.Next)
		rest(g.Next)
		ask("under load", false, g.Next)
		time.Sleep(time.Hour)
		ask("after an hour", true, g.Next)
		down.Store(true)
		g.Invalidate()
		synctest.Wait()
		if _, err := g.Next(); !errors.Is(err, cached.ErrEmpty) {
			t.Errorf("without a lease: %v", err)
		}
		down.Store(false)
		time.Sleep(time.Second) // not long enough for stale blocks
		ask("of a new lease", true, g.Next)
		g.Invalidate()
		synctest.Wait()
		ask("of another new lease", true, g.Next)
		rest(g.Next)
		lane := g.Lane()
		ask("of a lane", true, lane.Next)
		rest(lane.Next)
		ask("of a lane under load", false, lane.Next)
		rest(g.Next)
		for range 3 {
			_, err := lane.Next()
			testkit.Must(t, err)
		}
		time.Sleep(time.Hour)
		ask("of a lane after an hour", true, lane.Next)
		rest(lane.Next)
		first, got, err := g.Reserve(ids - 1)
		late, errLate := g.Lane().Next() // it has the last ID of the block alone
		if err = errors.Join(err, errLate); err != nil || late != first+int64(got) {
			t.Errorf("ID %d after %d to %d, %v", late, first, first+int64(got)-1, err)
		}
	})
}
