package k8sassigner_test

import (
	"fmt"
	"log"
	"os"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/k8sassigner"
	"github.com/uidring/uidring/cached"
)

// A test replaces inCluster, since it runs in no pod.
var inCluster = k8sassigner.InCluster

// A generator in a pod of a Deployment. Its inCluster is [k8sassigner.InCluster].
func ExampleLeaseStore() {
	cluster, err := inCluster()
	if err != nil {
		log.Fatal(err)
	}
	numbers := assigner.Leased(k8sassigner.LeaseStore(cluster, "orders", k8sassigner.Config{}), assigner.LeaseConfig{Owner: os.Getenv("HOSTNAME")})
	generator, err := cached.New(cached.Config{Assigner: numbers})
	if err != nil {
		log.Fatal(err)
	}
	defer generator.Close()
	fmt.Println(generator.Next())
}
