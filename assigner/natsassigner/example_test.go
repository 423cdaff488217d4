package natsassigner_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/natsassigner"
	"github.com/uidring/uidring/cached"
)

// A generator that bridges a minute without NATS.
func ExampleLeaseStore() {
	// Such as tls://nats.example.org:4222.
	conn, err := nats.Connect(os.Getenv("IDS_NATS"), nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort())
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if _, err := js.CreateOrUpdateStream(ctx, natsassigner.StreamConfig("uidring", 3)); err != nil {
		log.Fatal(err)
	}
	// All servers run with sync_interval: always.
	leases := natsassigner.LeaseStore(js, "uidring", "orders", natsassigner.Config{SyncAlways: true})
	numbers := assigner.Leased(leases, assigner.LeaseConfig{Window: time.Minute})
	generator, err := cached.NewContext(ctx, cached.Config{Assigner: numbers})
	if err != nil {
		log.Fatal(err)
	}
	defer generator.Close()
	fmt.Println(generator.Next())
}
