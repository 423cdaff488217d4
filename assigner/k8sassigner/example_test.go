package k8sassigner_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/k8sassigner"
	"github.com/uidring/uidring/cached"
)

// A generator in a pod of a Deployment.
func ExampleLeaseStore() {
	cluster, err := k8sassigner.InCluster()
	if err != nil {
		log.Fatal(err)
	}
	numbers := assigner.Leased(k8sassigner.LeaseStore(cluster, "orders"), assigner.LeaseConfig{Owner: os.Getenv("HOSTNAME")})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	generator, err := cached.NewContext(ctx, cached.Config{Assigner: numbers})
	if err != nil {
		log.Fatal(err)
	}
	defer generator.Close()
	id, err := generator.Next()
	fmt.Println(id, err)
}

// A pod of a StatefulSet has its ordinal as worker ID, and the fence keeps it from a pod that was
// deleted by force and still runs.
func ExampleLeaseStore_statefulSet() {
	cluster, err := k8sassigner.InCluster()
	if err != nil {
		log.Fatal(err)
	}
	store := k8sassigner.LeaseStore(cluster, "orders")
	numbers := assigner.Fenced(store, assigner.StatefulSet("POD_INDEX"), os.Getenv("POD_NAME"), assigner.LeaseConfig{})
	generator, err := cached.New(cached.Config{Assigner: numbers})
	if err != nil {
		log.Fatal(err)
	}
	defer generator.Close()
	id, err := generator.Next()
	fmt.Println(id, err)
}
