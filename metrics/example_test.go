package metrics_test

import (
	"expvar"
	"fmt"
	"log"
	"strings"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/metrics"
)

func ExamplePublish() {
	g, err := cached.New(cached.Config{Assigner: assigner.Static(21), AllowReuse: true})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	name := newName() // "ids", in a program
	if err := metrics.Publish(name, g.Stats); err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Contains(expvar.Get(name).String(), `"uidring_worker_id":21`)) // as at /debug/vars
	// Output: true
}
