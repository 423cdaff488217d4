package remoteassigner_test

import (
	"crypto/subtle"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/remoteassigner"
	"github.com/uidring/uidring/cached"
)

// A server other than uidring serve, with a token check of its own.
func ExampleNewHandler() {
	store := fileassigner.LeaseStore("/var/lib/ids")
	leases := remoteassigner.NewHandler(func(namespace string) leasestore.Store {
		if namespace != "orders" {
			return nil
		}
		return store
	})
	secret := []byte("Bearer " + os.Getenv("IDS_LEASE_TOKEN"))
	http.HandleFunc("/v1/leases/", func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), secret) == 0 {
			http.Error(w, "a token is missing", http.StatusUnauthorized)
			return
		}
		leases.ServeHTTP(w, r)
	})
	log.Fatal(http.ListenAndServeTLS(":8443", "ids.pem", "ids.key", nil))
}

// Both sides in one process: the server has the store, the generator reaches it over HTTP only.
func Example() {
	dir, err := os.MkdirTemp("", "leases-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	server := httptest.NewServer(remoteassigner.NewHandler(func(string) leasestore.Store { return fileassigner.LeaseStore(dir) }))
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
