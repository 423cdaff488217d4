package metrics

import "github.com/uidring/uidring/segment"

// segmentMetrics returns the metrics of package segment. They have a prefix of their own:
// Prometheus allows one help text for each name.
func segmentMetrics() []Metric[segment.Stats] {
	counter := func(name, unit, help string, value func(s segment.Stats) int64) Metric[segment.Stats] {
		return Metric[segment.Stats]{"uidring_segment_" + name, help, unit, true,
			func(s segment.Stats) (float64, bool) { return float64(value(s)), true }}
	}
	gauge := func(name, unit, help string, value func(s segment.Stats) int64) Metric[segment.Stats] {
		m := counter(name, unit, help, value)
		m.Counter = false
		return m
	}
	return []Metric[segment.Stats]{
		gauge("remaining_ids", "{id}", "IDs of all sources that are ready now.",
			func(s segment.Stats) int64 { return s.Remaining }),
		counter("issued_ids_total", "{id}", "IDs returned to callers, and IDs reserved by lanes.",
			func(s segment.Stats) int64 { return s.Issued }),
		counter("dropped_ids_total", "{id}", "IDs dropped by Close and Invalidate.",
			func(s segment.Stats) int64 { return s.Dropped }),
		counter("fetches_total", "{range}", "Ranges fetched.",
			func(s segment.Stats) int64 { return s.Fetches }),
		counter("fetch_failures_total", "{call}", "Calls of sources that failed.",
			func(s segment.Stats) int64 { return s.FetchFailures }),
		counter("rejected_takes_total", "{take}", "Errors that callers got in place of an ID, without those after Close.",
			func(s segment.Stats) int64 { return s.RejectedTakes }),
		gauge("failed_sources", "{source}", "Sources whose last call has failed.", failedSources),
	}
}

func failedSources(s segment.Stats) (n int64) {
	for _, source := range s.Sources {
		if source.Err != nil {
			n++
		}
	}
	return n
}
