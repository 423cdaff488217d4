package leasestore_test

import (
	"context"
	"fmt"
	"os"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/cached"
)

// A job that reads new rows takes those whose IDs are below the horizon, and goes on from there. An
// ID that a generator issues now is above it.
func ExampleHorizon() {
	dir, err := os.MkdirTemp("", "ids-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	store := fileassigner.LeaseStore(dir, fileassigner.Config{})
	leases := assigner.Leased(store, assigner.LeaseConfig{AllowUndurable: true}) // some hosts keep temporary files in memory
	g, err := cached.New(cached.Config{Assigner: leases})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()

	horizon, err := leasestore.Horizon(context.Background(), store)
	if err != nil {
		fmt.Println(err)
		return
	}
	id, err := g.Next()
	fmt.Println(horizon > 0, id >= horizon, err)
	// Output: true true <nil>
}
