package assigner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
)

// A generator makes this call when it starts.
func Example() {
	d := assigner.Domain{Layout: bitsalloc.Default(), Epoch: bitsalloc.DefaultEpoch()}
	lease, err := assigner.Static(12).Assign(context.Background(), d)
	if err != nil {
		fmt.Println(err)
		return
	}
	g := lease.Grant()
	fmt.Printf("worker %d, %v, comes back after a restart: %v\n", g.WorkerID, g.Guarantee, g.Reusable)

	_, err = assigner.Static(131072).Assign(context.Background(), d)
	fmt.Println(err)
	// Output:
	// worker 12, derived, comes back after a restart: true
	// assigner: worker ID out of range: 131072 from Static, allowed with layout 28/5/17/13@1s: 0 to 131071
}

// rack is a custom assigner: it numbers workers by rack and slot, and leaves range checks, grant
// and lease to Static.
type rack struct{ number, slot int64 }

func (r rack) Assign(ctx context.Context, d assigner.Domain) (assigner.Lease, error) {
	if r.slot < 0 || r.slot > 99 {
		return nil, fmt.Errorf("%w: slot %d, allowed: 0 to 99", assigner.ErrWorkerUnknown, r.slot)
	}
	return assigner.Static(r.number*100+r.slot).Assign(ctx, d)
}

func ExampleAssigner() {
	d := assigner.Domain{Layout: bitsalloc.Default(), Epoch: bitsalloc.DefaultEpoch()}
	var a assigner.Assigner = rack{number: 14, slot: 3}
	lease, err := a.Assign(context.Background(), d)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("worker", lease.Grant().WorkerID)
	// Output: worker 1403
}

// folder returns a store for leases in a temporary folder; the stores of the other packages work
// alike.
func folder() (store leasestore.Store, remove func()) {
	dir, err := os.MkdirTemp("", "leases-")
	if err != nil {
		panic(err)
	}
	return fileassigner.LeaseStore(dir, fileassigner.Config{}), func() { _ = os.RemoveAll(dir) }
}

// undurable is only for these examples: some hosts keep temporary files in memory.
var undurable = assigner.LeaseConfig{AllowUndurable: true}

// A worker ID that its holder gave back goes to the next process.
func ExampleLeased() {
	store, remove := folder()
	defer remove()
	for range 2 {
		g, err := cached.New(cached.Config{Assigner: assigner.Leased(store, undurable)})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("worker", g.WorkerID())
		if err := g.Close(); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// worker 0
	// worker 0
}

// Worker IDs by configuration: the store rejects a second process with the same one.
func ExampleFenced() {
	store, remove := folder()
	defer remove()
	for _, host := range []string{"host-a", "host-b"} {
		numbers := assigner.Fenced(store, assigner.Static(7), assigner.LeaseConfig{Owner: host, AllowUndurable: true})
		g, err := cached.New(cached.Config{Assigner: numbers})
		if err != nil {
			fmt.Println(host, "has none:", errors.Is(err, assigner.ErrWorkerInUse))
			return
		}
		defer g.Close()
		fmt.Println(host, "has worker", g.WorkerID())
	}
	// Output:
	// host-a has worker 7
	// host-b has none: true
}

// After a restore of the database, before any process starts. IDs of new generators lie above all
// IDs of generators that were less than an hour ahead of the clock.
func Example_recover() {
	store, remove := folder()
	defer remove()
	g, err := cached.New(cached.Config{Assigner: assigner.Leased(store, undurable)})
	if err != nil {
		fmt.Println(err)
		return
	}
	old, err := g.Next()
	if err := errors.Join(err, g.Close(), leasestore.Recover(context.Background(), store, leasestore.Recovery{Lead: time.Hour})); err != nil {
		fmt.Println(err)
		return
	}
	if g, err = cached.New(cached.Config{Assigner: assigner.Leased(store, undurable)}); err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	id, err := g.Next()
	const unitsOfAnHour = 3600 << 35 // 35 bits below the delta
	fmt.Println(id-old > unitsOfAnHour, err)
	// Output: true <nil>
}
