package assignertest

import (
	"slices"
	"sync"
	"testing"

	"github.com/uidring/uidring/assigner/leasestore"
)

// A StoreFixture is an empty namespace of the store under test.
type StoreFixture struct {
	// Handle opens the namespace, as another process would: handles share no memory. On a cluster
	// successive handles connect to different nodes in turn. Required.
	Handle func() leasestore.Store
	// Other opens another namespace of the same store, empty at first. If the store is an
	// [leasestore.Namespaced] it has the given name, and with a name that
	// [leasestore.CheckNamespace] rejects all its methods return an error. No name is used by two
	// cases unless it begins with the name of the fixture's namespace. Nil: the store has one
	// namespace only.
	Other func(name string) leasestore.Store
	// Delete removes the row of a worker ID without telling its holder. Required.
	Delete func(t *testing.T, workerID int64)
	// Clear removes all rows of the namespace, and its meta row. Required.
	Clear func(t *testing.T)
	// Down makes the store unreachable for all handles on the namespace until up is called. The
	// store keeps all acknowledged writes. While it is down, reads may succeed, but writes must
	// fail. Other namespaces may be down as well, unless the store is lossy. Required for RunStore.
	Down func(t *testing.T) (up func())
	// Starts is the number of processes that take their first worker IDs at once. 0: 100. Set a
	// lower number for a store whose commits are so slow that a hundred of them take minutes.
	Starts int

	// Through opens the namespace with a client whose connections run over a wire, which RunFaults
	// cuts. Nil: the store has no connections.
	Through func(w *Wire) leasestore.Store
	// Kill ends the store's server without warning, as SIGKILL does, and starts it again on the
	// same data. Nil: the store has no server.
	Kill func(t *testing.T)
	// Unreachable is in every error of the store after a cut or while its server is down. Nil: the
	// store has no error of its own for that.
	Unreachable error
}

// A storeCase is a case of [RunStore] or [RunFaults].
type storeCase struct {
	name string
	run  func(*testing.T, namespace)
}

// RunStore checks an [leasestore.Store]: first its single operations, then leases on it. It calls
// open once, and each case calls it once more; open closes its resources with t.Cleanup. On a lossy
// store each lease takes seconds, so the cases run in parallel and several goroutines call open.
//
// The settings of the store must be durable, and its server's clock right to a second. The store
// must keep the numbers and texts that [leasestore.Row] and [leasestore.Meta] allow.
func RunStore(t *testing.T, open func(t *testing.T) StoreFixture) {
	lossy := status(t, open(t).Handle()).Lossy
	for _, c := range slices.Concat(rowCases(), concurrentCases(), nameCases()) {
		t.Run(c.name, func(t *testing.T) { c.run(t, namespace{open(t), lossy}) })
	}
	cases := slices.Concat(outageCases(), leaseCases())
	if lossy {
		cases = append(cases, lossyCases()...)
	}
	runCases(t, open, lossy, cases)
}

// runCases runs cases with leases, in parallel on a lossy store.
func runCases(t *testing.T, open func(t *testing.T) StoreFixture, lossy bool, cases []storeCase) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, c := range cases {
		test := func() { t.Run(c.name, func(t *testing.T) { c.run(t, namespace{open(t), lossy}) }) }
		if lossy {
			wg.Go(test) // t.Parallel would limit them to the number of CPUs, but these cases mostly wait
		} else {
			test()
		}
	}
}
