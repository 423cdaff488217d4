package fileassigner_test

import (
	"fmt"
	"os"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/cached"
)

// Two generators of one host, which may as well be two processes.
func ExampleLeaseStore() {
	dir, err := os.MkdirTemp("", "ids-") // for real a folder that stays, such as /var/lib/ids
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()

	for range 2 {
		g, err := cached.New(cached.Config{
			Assigner: assigner.Leased(fileassigner.LeaseStore(dir, fileassigner.Config{}), assigner.LeaseConfig{
				AllowUndurable: true, // only for this example: some hosts keep temporary files in memory
			}),
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer g.Close()
		fmt.Println("worker", g.WorkerID())
	}
	// Output:
	// worker 0
	// worker 1
}
