package remoteassigner_test

import (
	"fmt"
	"net/http/httptest"
	"os"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/remoteassigner"
	"github.com/uidring/uidring/cached"
)

// Both sides in one process: the server has the store, the generator reaches it over HTTP only.
func Example() {
	dir, err := os.MkdirTemp("", "leases-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	server := httptest.NewServer(remoteassigner.NewHandler(func(string) leasestore.Store { return fileassigner.LeaseStore(dir, fileassigner.Config{}) }))
	defer server.Close()

	leases := remoteassigner.LeaseStore([]string{server.URL}, "orders", remoteassigner.Config{})
	numbers := assigner.Leased(leases, assigner.LeaseConfig{AllowUndurable: true}) // some hosts keep temporary files in memory
	generator, err := cached.New(cached.Config{Assigner: numbers})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer generator.Close()
	fmt.Println("worker", generator.WorkerID())
	// Output: worker 0
}
