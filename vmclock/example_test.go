package vmclock_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/vmclock"
)

// Open comes before New. Most machines have no such counter, and clock is nil.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "ids-")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	leases := assigner.Leased(fileassigner.LeaseStore(dir, fileassigner.Config{}), assigner.LeaseConfig{AllowUndurable: true}) // some hosts keep temporary files in memory
	clock, _ := vmclock.Open()
	g, err := cached.New(cached.Config{Assigner: leases})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	if clock != nil {
		go clock.Watch(context.Background(), g.Invalidate)
	}
	fmt.Println("worker", g.WorkerID())
	// Output: worker 0
}
