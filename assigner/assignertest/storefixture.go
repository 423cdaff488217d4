package assignertest

import (
	"slices"
	"sync"
	"testing"

	"github.com/uidring/uidring/assigner"
)

// A StoreFixture is an empty namespace of the store under test.
type StoreFixture struct {
	// Handle opens the namespace, as another process would: handles share no memory. Required.
	Handle func() assigner.Store
	// Other opens another empty namespace of the same store. Nil: the store has one namespace only.
	Other func() assigner.Store
	// Delete removes the row of a worker ID without telling its holder. Required.
	Delete func(t *testing.T, workerID int64)
	// Clear removes all rows, and the meta row. Required.
	Clear func(t *testing.T)
	// Down makes the store unreachable for all handles on the namespace until up is called. The
	// store keeps all acknowledged writes. While it is down, reads may succeed, but writes must
	// fail. Other namespaces may be down as well, unless the store is lossy. Required.
	Down func(t *testing.T) (up func())
	// Starts is the number of processes that take their first worker IDs at once. 0: 100. Set a
	// lower number for a store whose commits are so slow that a hundred of them take minutes.
	Starts int
}

// RunStore checks an [assigner.Store]: first its single operations, then leases on it. It calls
// open once, and each case calls it once more; open closes its resources with t.Cleanup. On a lossy
// store each lease takes seconds, so the cases run in parallel and several goroutines call open.
//
// The settings of the store must be durable, and its server's clock right to a second. The store
// must keep tokens of 64 bytes, identities of 100 bytes and owners of 255 characters.
func RunStore(t *testing.T, open func(t *testing.T) StoreFixture) {
	for _, c := range rowCases() {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t).Handle) })
	}
	lossy := status(t, open(t).Handle()).Lossy
	cases := slices.Concat(outageCases(), leaseCases(), doubtCases())
	if lossy {
		cases = append(cases, lossyCases()...)
	}
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
