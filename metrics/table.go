package metrics

import (
	"math"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/segment"
)

// A row is a metric of the Stats T. The suffix _total marks a counter.
type row[T any] struct {
	name, unit, help string
	value            func(T) float64 // NaN: none at present
}

// describe returns the metrics of rows. of returns the Stats that rows read.
func describe[S Stats, T any](prefix string, rows []row[T], of func(S) T) (all []Metric[S]) {
	for _, r := range rows {
		counter := strings.HasSuffix(r.name, "_total")
		all = append(all, Metric[S]{prefix + r.name, r.help, r.unit, counter, func(s S) (float64, bool) {
			v := r.value(of(s))
			if math.IsNaN(v) {
				return 0, false
			}
			return v, true
		}})
	}
	return all
}

// fenced returns a window in seconds. Without a fence it is NaN: a zero would read as a window that
// is used up.
func fenced(s cached.Stats, window time.Duration) float64 {
	if s.LastGranted == assigner.Unlimited {
		return math.NaN()
	}
	return window.Seconds()
}

// leaseRows are the metrics of every generator with a worker ID.
var leaseRows = []row[cached.Stats]{
	{"worker_id", "", "Worker ID of the IDs composed now. It changes when one is lost, and may change at a restart.",
		func(s cached.Stats) float64 { return float64(s.WorkerID) }},
	{"datacenter_id", "", "Datacenter ID of the IDs composed now.",
		func(s cached.Stats) float64 { return float64(s.DatacenterID) }},
	{"window_seconds", "s", "ID time left until the fence of the worker ID. Absent without a fence.",
		func(s cached.Stats) float64 { return fenced(s, s.Window) }},
	{"window_lasts_seconds", "s", "How long the generator can do without the store of worker IDs at the present rate of use. Absent without a fence.",
		func(s cached.Stats) float64 { return fenced(s, s.WindowLasts) }},
	{"renewals_total", "{renewal}", "Renewals of the worker ID that succeeded.",
		func(s cached.Stats) float64 { return float64(s.Renewals) }},
	{"renew_failures_total", "{call}", "Failed renewals of a worker ID, and claims after the start.",
		func(s cached.Stats) float64 { return float64(s.RenewFailures) }},
	{"rejected_takes_total", "{take}", "Errors that callers got in place of an ID, without those after Close.",
		func(s cached.Stats) float64 { return float64(s.RejectedTakes) }},
	{"ahead_seconds", "s", "How far the last ID time in use is ahead of the clock; negative when it is behind.",
		func(s cached.Stats) float64 { return s.Ahead.Seconds() }},
	{"expires_timestamp_seconds", "s", "When the delta field is used up at the pace of the clock, in seconds since 1970.",
		func(s cached.Stats) float64 { return float64(s.Expires.UnixMilli()) / 1000 }},
}

// ringRows are the further metrics of generators with a ring.
var ringRows = []row[cached.Stats]{
	{"issued_ids_total", "{id}", "IDs returned to callers, and IDs reserved by lanes.",
		func(s cached.Stats) float64 { return float64(s.Issued) }},
	{"capacity_ids", "{id}", "IDs in a full ring.",
		func(s cached.Stats) float64 { return float64(s.Capacity) }},
	{"remaining_ids", "{id}", "IDs in the ring now.",
		func(s cached.Stats) float64 { return float64(s.Remaining) }},
	{"retired_ids_total", "{id}", "IDs dropped because they were stale, to scatter sequence numbers, or at Close, Invalidate and the loss of a worker ID.",
		func(s cached.Stats) float64 { return float64(s.Retired) }},
	{"padding_passes_total", "{pass}", "Padding passes that put at least one block into the ring.",
		func(s cached.Stats) float64 { return float64(s.PaddingPasses) }},
	{"inline_pads_total", "{block}", "Blocks put by callers that had found the ring empty.",
		func(s cached.Stats) float64 { return float64(s.InlinePads) }},
	{"rejected_puts_total", "{pass}", "Padding passes that had to leave slots free: too far ahead, no lease, or the layout has ended.",
		func(s cached.Stats) float64 { return float64(s.RejectedPuts) }},
}

// segmentRows are the metrics of package segment. They have a prefix of their own: Prometheus
// allows one help text for each name.
var segmentRows = []row[segment.Stats]{
	{"remaining_ids", "{id}", "IDs of all sources that are ready now.",
		func(s segment.Stats) float64 { return float64(s.Remaining) }},
	{"issued_ids_total", "{id}", "IDs returned to callers, and IDs reserved by lanes.",
		func(s segment.Stats) float64 { return float64(s.Issued) }},
	{"retired_ids_total", "{id}", "IDs dropped by Close and Invalidate.",
		func(s segment.Stats) float64 { return float64(s.Retired) }},
	{"fetches_total", "{range}", "Ranges fetched.",
		func(s segment.Stats) float64 { return float64(s.Fetches) }},
	{"fetch_failures_total", "{call}", "Calls of sources that failed.",
		func(s segment.Stats) float64 { return float64(s.FetchFailures) }},
	{"rejected_takes_total", "{take}", "Errors that callers got in place of an ID, without those after Close.",
		func(s segment.Stats) float64 { return float64(s.RejectedTakes) }},
	{"failed_sources", "{source}", "Sources whose last call has failed.", func(s segment.Stats) (n float64) {
		for _, source := range s.Sources {
			if source.Err != nil {
				n++
			}
		}
		return n
	}},
}
