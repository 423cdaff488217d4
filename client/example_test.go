package client_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/uidring/uidring/client"
)

func Example() {
	ids, err := client.New(client.Config{
		Servers: []string{"https://ids-1.example.com", "https://ids-2.example.com"},
		Token:   "replace-with-a-token",
	})
	if err != nil {
		log.Fatal(err)
	}
	defer ids.Close()

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	id, err := ids.NextContext(ctx) // waits only at the start, and while no server is well
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(id)
}
