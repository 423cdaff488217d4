package assignertest

import (
	"errors"
	"testing"

	"github.com/uidring/uidring/assigner"
)

// dockerKey is the key of the first container on Docker's default bridge, the same on every host.
const dockerKey = "172.17.0.2:02:42:ac:11:00:02"

// RunKeyed checks an assigner without a fence that keeps a worker ID for each key. The last process
// that starts with a key has its worker ID, and Renew of the others fails. Each case calls open
// once; the holder of [AssignerFixture.Assigner] is the key.
func RunKeyed(t *testing.T, open func(t *testing.T) AssignerFixture) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, AssignerFixture)
	}{
		{"KeyKeepsItsWorker", keyKept},
		{"KeysThatLookAlikeGetDifferentWorkers", alike},
		{"LastStarterOfAKeyHasItsWorker", lastStarter},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

func keyKept(t *testing.T, s AssignerFixture) {
	first := assign(t, s.Assigner("orders-1"))
	assign(t, s.Assigner("orders-2"))
	release(t, first)
	for _, after := range []string{"a release", "a crash"} {
		next := assign(t, s.Assigner("orders-1"))
		if a, b := first.Grant().WorkerID, next.Grant().WorkerID; a != b {
			t.Errorf("worker %d, after %s worker %d", a, after, b)
		}
		wantRenewed(t, next)
	}
}

func alike(t *testing.T, s AssignerFixture) {
	seen := make(map[int64]string)
	for _, key := range []string{"orders", "Orders", "ORDERS", "örders", "orders-", "orders/1", "orders%", "orders'", "o rders"} {
		w := assign(t, s.Assigner(key)).Grant().WorkerID
		if other, twice := seen[w]; twice {
			t.Errorf("keys %q and %q both have worker %d", other, key, w)
		}
		seen[w] = key
	}
}

// lastStarter checks two hosts with one key. An assigner cannot tell them apart, but it can end the
// first host's lease. The second host takes over the worker ID, and the first takes it back when it
// starts again.
func lastStarter(t *testing.T, s AssignerFixture) {
	hostA, hostB := s.Assigner(dockerKey), s.Assigner(dockerKey)
	a := assign(t, hostA)
	b := assign(t, hostB)
	if err := renew(t, a); !errors.Is(err, assigner.ErrWorkerRowLost) {
		t.Errorf("Renew on the first host: %v, want ErrWorkerRowLost", err)
	}
	release(t, a)
	wantRenewed(t, b)
	release(t, b)
	again := assign(t, hostA)
	if again.Grant().WorkerID != b.Grant().WorkerID {
		t.Errorf("worker %d after the second host has gone, want %d", again.Grant().WorkerID, b.Grant().WorkerID)
	}
	wantRenewed(t, again)
}
