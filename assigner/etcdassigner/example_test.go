package etcdassigner_test

import (
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/etcdassigner"
	"github.com/uidring/uidring/cached"
)

// A generator that bridges a minute without etcd.
func ExampleLeaseStore() {
	client, err := clientv3.New(clientv3.Config{
		Endpoints:   strings.Split(os.Getenv("IDS_ETCD"), ","), // such as https://etcd-0.example.org:2379,https://etcd-1.example.org:2379
		DialTimeout: 5 * time.Second,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	numbers := assigner.Leased(etcdassigner.LeaseStore(client, "orders", etcdassigner.Config{}), assigner.LeaseConfig{Window: time.Minute})
	generator, err := cached.New(cached.Config{Assigner: numbers})
	if err != nil {
		log.Fatal(err)
	}
	defer generator.Close()
	fmt.Println(generator.Next())
}
