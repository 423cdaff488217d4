package metrics

import "github.com/uidring/uidring/cached"

// A row is a Metric in the table.
type row struct {
	name, unit, help string
	counter          bool
	fence            bool // absent without a fence: a zero would look like a window that is used up
	ring             bool // only for generators with a ring
	value            func(s cached.Stats) float64
}

// rows returns the table of all metrics.
func rows() []row { return append(leaseRows(), ringRows()...) }

// leaseRows are the metrics of every generator.
func leaseRows() []row {
	return []row{
		{name: "uidring_worker_id",
			help:  "Worker ID of the IDs composed now. It changes when one is lost, and may change at a restart.",
			value: func(s cached.Stats) float64 { return float64(s.WorkerID) }},
		{name: "uidring_datacenter_id",
			help:  "Datacenter ID of the IDs composed now.",
			value: func(s cached.Stats) float64 { return float64(s.DatacenterID) }},
		{name: "uidring_window_seconds", unit: "s", fence: true,
			help:  "ID time left until the fence of the worker ID. Absent without a fence.",
			value: func(s cached.Stats) float64 { return s.Window.Seconds() }},
		{name: "uidring_window_lasts_seconds", unit: "s", fence: true,
			help:  "How long the generator can do without the store of worker IDs at the present rate of use. Absent without a fence.",
			value: func(s cached.Stats) float64 { return s.WindowLasts.Seconds() }},
		{name: "uidring_renewals_total", unit: "{renewal}", counter: true,
			help:  "Renewals of the worker ID that succeeded.",
			value: func(s cached.Stats) float64 { return float64(s.Renewals) }},
		{name: "uidring_renew_failures_total", unit: "{call}", counter: true,
			help:  "Failed calls to the store of worker IDs.",
			value: func(s cached.Stats) float64 { return float64(s.RenewFailures) }},
		{name: "uidring_rejected_takes_total", unit: "{take}", counter: true,
			help:  "Errors that callers got in place of an ID, without those after Close.",
			value: func(s cached.Stats) float64 { return float64(s.RejectedTakes) }},
		{name: "uidring_ahead_seconds", unit: "s",
			help:  "How far the last ID time in use is ahead of the clock; negative when it is behind.",
			value: func(s cached.Stats) float64 { return s.Ahead.Seconds() }},
		{name: "uidring_expires_timestamp_seconds", unit: "s",
			help:  "When the delta field is used up at the pace of the clock, in seconds since 1970.",
			value: func(s cached.Stats) float64 { return float64(s.Expires.UnixMilli()) / 1000 }},
	}
}

func ringRows() []row {
	return []row{
		{name: "uidring_issued_ids_total", unit: "{id}", counter: true, ring: true,
			help:  "IDs returned to callers, and IDs reserved by lanes.",
			value: func(s cached.Stats) float64 { return float64(s.Issued) }},
		{name: "uidring_capacity_ids", unit: "{id}", ring: true,
			help:  "IDs in a full ring.",
			value: func(s cached.Stats) float64 { return float64(s.Capacity) }},
		{name: "uidring_remaining_ids", unit: "{id}", ring: true,
			help:  "IDs in the ring now.",
			value: func(s cached.Stats) float64 { return float64(s.Remaining) }},
		{name: "uidring_retired_ids_total", unit: "{id}", counter: true, ring: true,
			help:  "IDs dropped because they were stale, or at Close, Invalidate and the loss of a worker ID.",
			value: func(s cached.Stats) float64 { return float64(s.Retired) }},
		{name: "uidring_padding_passes_total", unit: "{pass}", counter: true, ring: true,
			help:  "Padding passes that put at least one block into the ring.",
			value: func(s cached.Stats) float64 { return float64(s.PaddingPasses) }},
		{name: "uidring_inline_pads_total", unit: "{block}", counter: true, ring: true,
			help:  "Blocks put by callers that had found the ring empty.",
			value: func(s cached.Stats) float64 { return float64(s.InlinePads) }},
		{name: "uidring_rejected_puts_total", unit: "{pass}", counter: true, ring: true,
			help:  "Padding passes that had to leave slots free: too far ahead, no lease, or the layout has ended.",
			value: func(s cached.Stats) float64 { return float64(s.RejectedPuts) }},
	}
}
