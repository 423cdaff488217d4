package vmclock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/vmclock"
)

// On most machines Watch returns at once, since they have no such counter.
func ExampleWatch() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dir, err := os.MkdirTemp("", "ids-")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	leases := assigner.Leased(fileassigner.LeaseStore(dir, fileassigner.Config{}), assigner.LeaseConfig{AllowUndurable: true}) // some hosts keep temporary files in memory
	g, err := cached.New(cached.Config{Assigner: leases})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	go func() {
		if err := vmclock.Watch(ctx, g.Invalidate); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			log.Print(err)
		}
	}()
	fmt.Println("worker", g.WorkerID())
	// Output: worker 0
}
