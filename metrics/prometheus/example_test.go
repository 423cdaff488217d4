package prometheus_test

import (
	"fmt"
	"log"

	client "github.com/prometheus/client_golang/prometheus"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/metrics/prometheus"
	"github.com/uidring/uidring/uidringtest"
)

func ExampleNewCollector() {
	g, err := cached.New(cached.Config{Assigner: uidringtest.Worker(22)})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	registry := client.NewRegistry()
	registry.MustRegister(prometheus.NewCollector(g.Stats, client.Labels{"generator": "orders"}))
	families, err := registry.Gather()
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "uidring_worker_id" {
			fmt.Println(f.GetName(), f.Metric[0].Label[0].GetValue(), f.Metric[0].Gauge.GetValue())
		}
	}
	// Output: uidring_worker_id orders 22
}
