package backdate_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/backdate"
	"github.com/uidring/uidring/bitsalloc"
)

// IDs for events that were reported late, from the namespace of the service that stores them.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "ids-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ids, err := backdate.New(context.Background(), backdate.Config{
		Layout: bitsalloc.Recommended(),
		// Some hosts keep temporary files in memory.
		Assigner: assigner.Auto(fileassigner.LeaseStore(dir, fileassigner.Config{}), assigner.LeaseConfig{AllowUndurable: true}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	second, err := ids.At(time.Now().Add(-48 * time.Hour))
	if err != nil {
		fmt.Println(err)
		return
	}
	first, err := ids.At(time.Now().Add(-72 * time.Hour))
	fmt.Println(first > 0, first < second, err)
	// Output: true true <nil>
}
