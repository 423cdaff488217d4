// Command bare answers every request with the same ID, as plainly as net/http can. Its argument is
// the address to listen on.
package main

import (
	"log"
	"net/http"
	"os"
)

func main() {
	id := []byte(`{"id":"22079567884713991"}` + "\n")
	log.Fatal(http.ListenAndServe(os.Args[1], http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(id)
	})))
}
