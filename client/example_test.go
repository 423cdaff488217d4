package client_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/uidring/uidring/client"
)

func Example() {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"ranges":[{"first":"22079567884713991","count":1000}]}`)
	}))
	defer service.Close()

	ids, err := client.New(client.Config{
		Servers: []string{service.URL}, // for real several: https://ids-1.example.com and so on
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
	// Output: 22079567884713991
}
