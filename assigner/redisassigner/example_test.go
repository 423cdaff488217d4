package redisassigner_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/redisassigner"
	"github.com/uidring/uidring/cached"
)

// A start waits out a quarantine of Window and MaxSkew, here 25 seconds: the context has to last
// longer.
func ExampleLeaseStore() {
	client := redis.NewClient(&redis.Options{
		Addr:                  os.Getenv("IDS_REDIS"), // such as redis.example.org:6379
		ContextTimeoutEnabled: true,
	})
	defer client.Close()
	numbers := assigner.Leased(redisassigner.LeaseStore(client, "orders", redisassigner.Config{}), assigner.LeaseConfig{
		Window:  20 * time.Second,
		MaxSkew: 5 * time.Second,
		Logger:  slog.Default(),
	})
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	generator, err := cached.NewContext(ctx, cached.Config{Assigner: numbers})
	if err != nil {
		log.Fatal(err) // with leasestore.ErrNotDurable unless appendonly is yes and appendfsync always
	}
	defer generator.Close()
	fmt.Println(generator.Next())
}
