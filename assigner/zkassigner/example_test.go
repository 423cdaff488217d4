package zkassigner_test

import (
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/zkassigner"
	"github.com/uidring/uidring/cached"
)

// A generator that bridges a minute without ZooKeeper. Only clients of the user ids may use its
// znodes.
func ExampleLeaseStore() {
	servers := strings.Split(os.Getenv("IDS_ZK"), ",") // such as zk-0.example.org:2181,zk-1.example.org:2181
	conn, _, err := zk.Connect(servers, 10*time.Second, zk.WithHostProvider(zkassigner.HostProvider()))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	if err := conn.AddAuth("digest", []byte("ids:secret")); err != nil {
		log.Fatal(err)
	}
	leases := zkassigner.LeaseStore(conn, "orders", zkassigner.Config{Root: "/services/uidring", ACL: zk.AuthACL(zk.PermAll)})
	numbers := assigner.Leased(leases, assigner.LeaseConfig{Window: time.Minute})
	generator, err := cached.New(cached.Config{Assigner: numbers})
	if err != nil {
		log.Fatal(err)
	}
	defer generator.Close()
	fmt.Println(generator.Next())
}
