// Package otel shows the Stats of generators to OpenTelemetry.
//
//	registration, err := otel.Register(provider.Meter("github.com/uidring/uidring"), generator.Stats)
//	defer registration.Unregister()
package otel

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/uidring/uidring/metrics"
)

// Register makes the observable instruments of a generator on a meter, and reads one snapshot of
// its Stats for each collection, until the caller calls Unregister on the registration. The name of
// an instrument, such as uidring.worker_id, is the name of the metric without the unit of time and
// without _total, which exporters to Prometheus add again with the translation strategy
// UnderscoreEscapingWithSuffixes. attributes go with every value; generators that share a meter
// need attributes that tell them apart. Register returns the errors of the meter, and an error if
// stats is nil, or its Stats have no metrics, such as a pointer.
func Register[S metrics.Stats](meter metric.Meter, stats func() S, attributes ...attribute.KeyValue) (metric.Registration, error) {
	all := metrics.All[S]()
	if stats == nil || len(all) == 0 {
		return nil, fmt.Errorf("otel: Register: stats %T (nil: %t), allowed: the method Stats of a generator, or a func whose result embeds its Stats, no pointer", stats, stats == nil)
	}
	instruments := make([]metric.Float64Observable, len(all))
	observables := make([]metric.Observable, len(all))
	mistakes := make([]error, len(all))
	for i, m := range all {
		instrument, err := observable(meter, m)
		if err != nil {
			mistakes[i] = fmt.Errorf("otel: instrument for %s: %w", m.Name, err)
		}
		instruments[i], observables[i] = instrument, instrument
	}
	if err := errors.Join(mistakes...); err != nil {
		return nil, err
	}
	with := metric.WithAttributeSet(attribute.NewSet(attributes...))
	registration, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := stats()
		for i, m := range all {
			if v, ok := m.Value(s); ok {
				o.ObserveFloat64(instruments[i], v, with)
			}
		}
		return nil
	}, observables...)
	if err != nil {
		return nil, fmt.Errorf("otel: callback: %w", err)
	}
	return registration, nil
}

func observable[S metrics.Stats](meter metric.Meter, m metrics.Metric[S]) (metric.Float64Observable, error) {
	name := "uidring." + strings.TrimPrefix(m.Name, "uidring_")
	description, unit := metric.WithDescription(m.Help), metric.WithUnit(m.Unit)
	if m.Counter {
		return meter.Float64ObservableCounter(strings.TrimSuffix(name, "_total"), description, unit)
	}
	return meter.Float64ObservableGauge(strings.TrimSuffix(name, "_seconds"), description, unit)
}
