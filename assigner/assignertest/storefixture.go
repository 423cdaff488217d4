package assignertest

import (
	"slices"
	"sync"
	"testing"

	"github.com/uidring/uidring/assigner"
)

// A StoreFixture is an empty namespace of the store under test.
type StoreFixture struct {
	// Handle opens the namespace, as another process would: what handles share is in the store, not
	// in memory. Required.
	Handle func() assigner.Store
	// Other opens another empty namespace of the same store. Nil: it has just one.
	Other func() assigner.Store
	// Delete removes the row of a worker ID behind everybody's back. Required.
	Delete func(t *testing.T, workerID int64)
	// Clear removes all rows, and the meta row. Required.
	Clear func(t *testing.T)
	// Down takes the store out of reach of all handles on the namespace, until up is called; what
	// it has acknowledged is still there then. While it is down, reads may succeed, but no write
	// does. Other namespaces may be down with it, unless the store calls itself lossy. Required.
	Down func(t *testing.T) (up func())
	// Starts is how many processes take their first worker IDs at once. 0: 100. Fewer are for a
	// store whose commits take so long that a hundred of them, one after the other, take minutes.
	Starts int
}

// RunStore checks what leases need of an [assigner.Store]: first its single operations, then leases
// on it. open is called once by each case, and once before; closing what it opens is up to it, with
// t.Cleanup. On a store that calls itself lossy cases run side by side, since each lease takes
// seconds to get, and several goroutines call open.
//
// The store must be set up so that it is durable, on a server whose clock is right to a second. It
// keeps tokens of 64 bytes, identities of 100 bytes and owners of 255 characters.
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
			wg.Go(test) // t.Parallel would run as many at once as there are CPUs, but these wait most of the time
		} else {
			test()
		}
	}
}
