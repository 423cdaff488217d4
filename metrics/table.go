package metrics

import (
	"strings"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/segment"
)

// metric returns a metric without an absent value. The unit s, the unit {id} and the kind follow
// from the name.
func metric[S Stats](name, unit, help string, value func(S) float64) Metric[S] {
	base, counter := strings.CutSuffix(name, "_total")
	switch {
	case strings.HasSuffix(base, "_seconds"):
		unit = "s"
	case strings.HasSuffix(base, "_ids"):
		unit = "{id}"
	}
	return Metric[S]{name, help, unit, counter, func(s S) (float64, bool) { return value(s), true }}
}

// leaseMetrics returns the metrics of every generator with a worker ID. widen returns its Stats as
// the Stats of cached, which have all fields.
func leaseMetrics[S Stats](widen func(S) cached.Stats) []Metric[S] {
	row := func(name, unit, help string, value func(cached.Stats) float64) Metric[S] {
		return metric("uidring_"+name, unit, help, func(s S) float64 { return value(widen(s)) })
	}
	// Without a fence a window would read as a zero, like a window that is used up.
	fenced := func(m Metric[S]) Metric[S] {
		value := m.Value
		m.Value = func(s S) (float64, bool) {
			v, _ := value(s)
			return v, widen(s).LastGranted != assigner.Unlimited
		}
		return m
	}
	return []Metric[S]{
		row("worker_id", "", "Worker ID of the IDs composed now. It changes when one is lost, and may change at a restart.",
			func(s cached.Stats) float64 { return float64(s.WorkerID) }),
		row("datacenter_id", "", "Datacenter ID of the IDs composed now.",
			func(s cached.Stats) float64 { return float64(s.DatacenterID) }),
		fenced(row("window_seconds", "", "ID time left until the fence of the worker ID. Absent without a fence.",
			func(s cached.Stats) float64 { return s.Window.Seconds() })),
		fenced(row("window_lasts_seconds", "", "How long the generator can do without the store of worker IDs at the present rate of use. Absent without a fence.",
			func(s cached.Stats) float64 { return s.WindowLasts.Seconds() })),
		row("renewals_total", "{renewal}", "Renewals of the worker ID that succeeded.",
			func(s cached.Stats) float64 { return float64(s.Renewals) }),
		row("renew_failures_total", "{call}", "Failed calls to the store of worker IDs.",
			func(s cached.Stats) float64 { return float64(s.RenewFailures) }),
		row("rejected_takes_total", "{take}", "Errors that callers got in place of an ID, without those after Close.",
			func(s cached.Stats) float64 { return float64(s.RejectedTakes) }),
		row("ahead_seconds", "", "How far the last ID time in use is ahead of the clock; negative when it is behind.",
			func(s cached.Stats) float64 { return s.Ahead.Seconds() }),
		row("expires_timestamp_seconds", "", "When the delta field is used up at the pace of the clock, in seconds since 1970.",
			func(s cached.Stats) float64 { return float64(s.Expires.UnixMilli()) / 1000 }),
	}
}

// ringMetrics returns the further metrics of generators with a ring.
func ringMetrics[S Stats](of func(S) cached.Stats) []Metric[S] {
	row := func(name, unit, help string, value func(cached.Stats) int64) Metric[S] {
		return metric("uidring_"+name, unit, help, func(s S) float64 { return float64(value(of(s))) })
	}
	return []Metric[S]{
		row("issued_ids_total", "", "IDs returned to callers, and IDs reserved by lanes.",
			func(s cached.Stats) int64 { return s.Issued }),
		row("capacity_ids", "", "IDs in a full ring.",
			func(s cached.Stats) int64 { return int64(s.Capacity) }),
		row("remaining_ids", "", "IDs in the ring now.",
			func(s cached.Stats) int64 { return int64(s.Remaining) }),
		row("retired_ids_total", "", "IDs dropped because they were stale, to scatter sequence numbers, or at Close, Invalidate and the loss of a worker ID.",
			func(s cached.Stats) int64 { return s.Retired }),
		row("padding_passes_total", "{pass}", "Padding passes that put at least one block into the ring.",
			func(s cached.Stats) int64 { return s.PaddingPasses }),
		row("inline_pads_total", "{block}", "Blocks put by callers that had found the ring empty.",
			func(s cached.Stats) int64 { return s.InlinePads }),
		row("rejected_puts_total", "{pass}", "Padding passes that had to leave slots free: too far ahead, no lease, or the layout has ended.",
			func(s cached.Stats) int64 { return s.RejectedPuts }),
	}
}

// segmentMetrics returns the metrics of package segment. They have a prefix of their own:
// Prometheus allows one help text for each name.
func segmentMetrics[S Stats](of func(S) segment.Stats) []Metric[S] {
	row := func(name, unit, help string, value func(segment.Stats) int64) Metric[S] {
		return metric("uidring_segment_"+name, unit, help, func(s S) float64 { return float64(value(of(s))) })
	}
	return []Metric[S]{
		row("remaining_ids", "", "IDs of all sources that are ready now.",
			func(s segment.Stats) int64 { return s.Remaining }),
		row("issued_ids_total", "", "IDs returned to callers, and IDs reserved by lanes.",
			func(s segment.Stats) int64 { return s.Issued }),
		row("retired_ids_total", "", "IDs dropped by Close and Invalidate.",
			func(s segment.Stats) int64 { return s.Retired }),
		row("fetches_total", "{range}", "Ranges fetched.",
			func(s segment.Stats) int64 { return s.Fetches }),
		row("fetch_failures_total", "{call}", "Calls of sources that failed.",
			func(s segment.Stats) int64 { return s.FetchFailures }),
		row("rejected_takes_total", "{take}", "Errors that callers got in place of an ID, without those after Close.",
			func(s segment.Stats) int64 { return s.RejectedTakes }),
		row("failed_sources", "{source}", "Sources whose last call has failed.", func(s segment.Stats) (n int64) {
			for _, source := range s.Sources {
				if source.Err != nil {
					n++
				}
			}
			return n
		}),
	}
}
