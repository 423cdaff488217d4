package otel_test

import (
	"context"
	"fmt"
	"log"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/metrics/otel"
	"github.com/uidring/uidring/uidringtest"
)

func ExampleRegister() {
	g, err := cached.New(cached.Config{Assigner: uidringtest.Worker(23)})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	reader := metric.NewManualReader() // a service uses an exporting reader
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	registration, err := otel.Register(provider.Meter("ids"), g.Stats, attribute.String("generator", "orders"))
	if err != nil {
		log.Fatal(err)
	}
	defer registration.Unregister()

	var collected metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &collected); err != nil {
		log.Fatal(err)
	}
	first := collected.ScopeMetrics[0].Metrics[0]
	fmt.Println(first.Name, first.Data.(metricdata.Gauge[float64]).DataPoints[0].Value)
	// Output: uidring.worker_id 23
}
