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

// A line for each number, for a monitoring system without a module here.
func ExampleAll() {
	g, err := cached.New(cached.Config{Assigner: assigner.Static(22), AllowReuse: true})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	if _, err := g.Fill(make([]int64, 100)); err != nil {
		log.Fatal(err)
	}
	stats := g.Stats()
	for _, m := range metrics.All[cached.Stats]() {
		if value, ok := m.Value(stats); ok && m.Name == "uidring_issued_ids_total" {
			fmt.Println(m.Name, value)
		}
	}
	// Output: uidring_issued_ids_total 100
}
