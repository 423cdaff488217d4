package kvassigner_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner/kvassigner"
	"github.com/uidring/uidring/internal/test/stores"
)

// A store without a clock keeps the time of the last write, and writes it twice a second at most.
func TestStatusSeenFollowsWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.Now = nil
		s, other := kvassigner.LeaseStore(m, namespace, kvassigner.Config{}), kvassigner.LeaseStore(m, namespace, kvassigner.Config{})
		if got := stores.Status(t, other); !got.Seen.IsZero() || !got.Now.Equal(time.Now()) {
			t.Errorf("%+v before the first write, want Seen zero and this host's clock", got)
		}
		row := stores.Create(t, s, stores.Sample(), time.Hour)
		for range 50 {
			time.Sleep(100 * time.Millisecond)
			stores.Swap(t, s, row, row, time.Hour)
			got := stores.Status(t, other)
			if behind := got.Now.Sub(got.Seen); behind < 0 || behind >= 500*time.Millisecond {
				t.Errorf("seen %v before the last write, want less than 0.5 s", behind)
			}
		}
		if writes := m.called("Put seen/" + namespace); len(writes) != 11 {
			t.Errorf("the time was written %d times in 5 s, want 11", len(writes))
		}
		// A host whose clock was wrong writes again: the time goes back.
		key, tomorrow := "seen/"+namespace, fmt.Appendf(nil, `{"reader":1,"value":%q}`, time.Now().Add(24*time.Hour).Format(time.RFC3339Nano))
		_, revision, _ := m.Get(t.Context(), key)
		if ok, err := m.Put(t.Context(), key, tomorrow, revision); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if got := stores.Status(t, other); got.Seen.Sub(got.Now) != 24*time.Hour {
			t.Errorf("%+v, want Seen a day ahead", got)
		}
		stores.Swap(t, s, row, row, time.Hour)
		if got := stores.Status(t, other); !got.Seen.Equal(got.Now) {
			t.Errorf("%+v after a write, want Seen now", got)
		}
	})
}

// The adapter reads the store's clock, which is three hours ahead, at most every ten seconds.
func TestSwapSetsTheExpiryByTheStoresClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.Now = func() time.Time { return time.Now().Add(3 * time.Hour).In(time.FixedZone("CET", 3600)) }
		s := kvassigner.LeaseStore(m, namespace, kvassigner.Config{})
		row := stores.Create(t, s, stores.Sample(), time.Hour)
		for i := range 60 {
			time.Sleep(time.Second)
			stores.Swap(t, s, row, row, time.Hour)
			if got, want := stores.Load(t, s, row.WorkerID).Expires, time.Now().Add(4*time.Hour); got != want.UTC().Truncate(time.Second) {
				t.Fatalf("after %d s: expires %v, want %v", i, got, want)
			}
		}
		if looks := m.called("Status"); len(looks) != 7 {
			t.Errorf("%d readings of the clock in a minute, want 7", len(looks))
		}
	})
}
