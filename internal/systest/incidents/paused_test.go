//go:build unix

package incidents_test

import (
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/testkit/idset"
	"github.com/uidring/uidring/internal/testkit/poll"
)

// A process that is suspended, migrated or starved cannot know that its lease has ended.
func TestProcessPausedUntilItsNumberIsAnothers(t *testing.T) {
	t.Parallel()
	leased := service{Layout: crowded(), DSN: mariaDB(t).DSN(), Window: time.Second}
	store := leased.store(handle(t, leased))
	both := processes(t, leased, leased)
	paused, next := both[0], both[1]
	worker := startAll(both[:1])[0]
	var issued idset.Set
	issued.Once(t, paused.draw(500)...)

	if err := paused.Pause(); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "the lease of the paused process expires", func() bool { return expired(t, store, worker) })
	if got := startAll(both[1:])[0]; got != worker {
		t.Errorf("worker %d, want %d, which the paused process has", got, worker)
	}
	issued.Once(t, next.draw(5_000)...)
	paused.tell("draw 1000") // the first thing that it does
	if err := paused.Continue(); err != nil {
		t.Fatal(err)
	}
	ids := paused.read(1_000)
	paused.expect("drawn")
	issued.Once(t, ids...)
	if f := parse(t, leased.Layout, ids[0]); f.WorkerID != worker {
		t.Errorf("the paused process goes on with %v, want worker %d: what it has prepared is its own", f, worker)
	}
	poll.Until(t, "the paused process has another number", func() bool {
		ids := paused.draw(1_000)
		issued.Once(t, ids...)
		return parse(t, leased.Layout, ids[len(ids)-1]).WorkerID != worker
	})
	issued.Once(t, next.draw(5_000)...)
	if got, want := rows(t, store)[worker].Version, int64(2); got != want {
		t.Errorf("worker %d was taken %d times, want %d", worker, got, want)
	}
}

func expired(t *testing.T, store assigner.Store, worker int64) bool {
	t.Helper()
	status, err := store.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return rows(t, store)[worker].Expires.Before(status.Now)
}
