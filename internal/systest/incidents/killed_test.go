package incidents_test

import (
	"slices"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/testkit/idset"
)

// crowded is a layout with four worker IDs.
func crowded() bitsalloc.Layout {
	return bitsalloc.Layout{DeltaBits: 41, WorkerBits: 2, SequenceBits: 8, Unit: time.Millisecond}
}

// Where a number comes back by being returned alone, each crash costs one, until there is none.
func TestKilledProcessesThatNeverReturnTheirNumbersUseUpNone(t *testing.T) {
	t.Parallel()
	const numbers, rounds, draws = 4, 3, 3_000
	leased := service{Layout: crowded(), DSN: mariaDB(t).DSN(), Window: time.Second}
	store := leased.store(handle(t, leased))
	var issued idset.Set
	before := make(map[int64]assigner.Row) // as the round before left them
	for range rounds {
		all := processes(t, slices.Repeat([]service{leased}, numbers)...)
		workers := startAll(all)
		if got := different(t, workers); !slices.Equal(got, []int64{0, 1, 2, 3}) {
			t.Errorf("workers %v, want all four", got)
		}
		status, err := store.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range all {
			old := before[workers[i]]
			if status.Now.Before(old.Expires) {
				t.Errorf("worker %d was given out before %v, when the lease of a process that may live ended", workers[i], old.Expires)
			}
			p.tell("draw 1000000")
			ids := p.read(draws)
			ids = append(ids, p.kill()...)
			issued.Once(t, ids...)
			above(t, ids, old)
		}
		before = rows(t, store)
	}
	if n := issued.Len(); n < rounds*numbers*draws {
		t.Errorf("%d IDs, want %d or more", n, rounds*numbers*draws)
	}
}

// above checks that all IDs are of a row and above its fence.
func above(t *testing.T, ids []int64, row assigner.Row) {
	t.Helper()
	for _, id := range ids {
		f := parse(t, crowded(), id)
		if row.Version > 0 && (f.WorkerID != row.WorkerID || f.Delta <= row.Fence) {
			t.Fatalf("%v, want worker %d and a delta above its fence, %d", f, row.WorkerID, row.Fence)
		}
	}
}

func parse(t *testing.T, layout bitsalloc.Layout, id int64) bitsalloc.Fields {
	t.Helper()
	alloc, err := bitsalloc.New(layout, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := alloc.Parse(id)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func rows(t *testing.T, store assigner.Store) map[int64]assigner.Row {
	t.Helper()
	list, err := store.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	byWorker := make(map[int64]assigner.Row)
	for _, row := range list {
		byWorker[row.WorkerID] = row
	}
	return byWorker
}
