package redisassigner_test

import (
	"errors"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/redisassigner"
	"github.com/uidring/uidring/internal/testkit/testserver"
	"github.com/uidring/uidring/internal/testkit/together"
)

// A service took its worker ID from a counter in Redis, modulo the number of worker IDs. The
// counter went past the maximum, and two processes that ran had one number.
func TestACounterThatWentPastTheMaximum(t *testing.T) {
	t.Parallel()
	client := connect(t, options(testserver.Redis(t).Addr()))
	d := assignertest.Domain()
	d.Layout.WorkerBits = 2
	numbers := d.MaxWorkerID() + 1

	held := make(map[int64]bool)
	for i := range numbers + 1 {
		n, err := client.Incr(t.Context(), "counter").Result()
		if err != nil {
			t.Fatal(err)
		}
		if worker := n % numbers; held[worker] != (i == numbers) {
			t.Errorf("start %d has worker %d by the counter, held by another: %v", i, worker, held[worker])
		}
		held[n%numbers] = true
	}

	s := redisassigner.LeaseStore(client, namespace)
	leases := make([]assigner.Lease, numbers)
	together.Run(len(leases), func(i int) {
		var err error
		if leases[i], err = sitOut(t, assigner.Leased(s, quick()), d); err != nil {
			t.Errorf("start %d: %v", i, err)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	seen := make(map[int64]bool)
	for _, l := range leases {
		if w := l.Grant().WorkerID; seen[w] || w > d.MaxWorkerID() {
			t.Errorf("worker %d, held by another: %v", w, seen[w])
		}
		seen[l.Grant().WorkerID] = true
	}
	past := func() {
		meta, err := s.LoadMeta(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		next := meta
		next.Version, next.NextWorkerID, next.Token = meta.Version+1, 1<<40, "past"
		if ok, err := s.SwapMeta(t.Context(), meta, next); !ok || err != nil {
			t.Fatalf("SwapMeta: %v, %v", ok, err)
		}
	}
	for _, prepare := range []func(){func() {}, past} {
		prepare()
		for name, a := range map[string]assigner.Assigner{"Leased": assigner.Leased(s, quick()), "Auto": assigner.Auto(s, quick())} {
			if l, err := a.Assign(t.Context(), d); !errors.Is(err, assigner.ErrWorkersExhausted) {
				t.Errorf("%s with the counter past the maximum: %v, %v, want ErrWorkersExhausted", name, l, err)
			}
		}
	}
}

// sitOut assigns and waits for the end of the quarantine.
func sitOut(t *testing.T, a assigner.Assigner, d assigner.Domain) (assigner.Lease, error) {
	t.Helper()
	for {
		l, err := a.Assign(t.Context(), d)
		held, ok := errors.AsType[*assigner.QuarantineError](err)
		if !ok {
			return l, err
		}
		select {
		case <-time.After(held.Remaining):
		case <-t.Context().Done():
			return nil, t.Context().Err()
		}
	}
}
