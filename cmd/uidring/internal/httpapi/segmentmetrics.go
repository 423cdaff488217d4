package httpapi

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/uidring/uidring/cmd/uidring/internal/segments"
)

// segmentMetrics are the metrics of each segment, with its name as label.
var segmentMetrics = []struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(segments.Stats) int64
}{
	{segmentDesc("issued_ids_total", "IDs issued."), prometheus.CounterValue, func(s segments.Stats) int64 { return s.Issued }},
	{segmentDesc("remaining_ids", "IDs of fetched ranges that are left."), prometheus.GaugeValue, func(s segments.Stats) int64 { return s.Remaining }},
	{segmentDesc("range_size_ids", "Size of the next range; 0 before the first request."), prometheus.GaugeValue, func(s segments.Stats) int64 { return s.Step }},
	{segmentDesc("fetches_total", "Ranges fetched from the store."), prometheus.CounterValue, func(s segments.Stats) int64 { return s.Fetches }},
	{segmentDesc("fetch_failures_total", "Calls of the store that failed."), prometheus.CounterValue, func(s segments.Stats) int64 { return s.FetchFailures }},
	{segmentDesc("rejected_takes_total", "Times that a request found no ID ready; it then waits for a moment."), prometheus.CounterValue, func(s segments.Stats) int64 { return s.RejectedTakes }},
}

func segmentDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("uidring_segment_"+name, help, []string{"segment"}, nil)
}

// A segmentCollector collects the metrics of a set.
type segmentCollector struct{ set *segments.Set }

// Describe implements prometheus.Collector.
func (c segmentCollector) Describe(to chan<- *prometheus.Desc) {
	for _, m := range segmentMetrics {
		to <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (c segmentCollector) Collect(to chan<- prometheus.Metric) {
	for _, s := range c.set.All() {
		stats := s.Stats()
		for _, m := range segmentMetrics {
			to <- prometheus.MustNewConstMetric(m.desc, m.kind, float64(m.value(stats)), stats.Name)
		}
	}
}
