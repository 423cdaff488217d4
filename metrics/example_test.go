package metrics_test

import (
	"expvar"
	"fmt"
	"log"
	"strings"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/metrics"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uidringtest"
)

func ExamplePublish() {
	g, err := cached.New(cached.Config{Assigner: uidringtest.Worker(21)})
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

// The metrics of cached; defaultgen has all down to uidring_expires_timestamp_seconds.
func ExampleAll() {
	for _, m := range metrics.All[cached.Stats]() {
		fmt.Println(m.Name+":", m.Help)
	}
	// Output:
	// uidring_worker_id: Worker ID of the IDs composed now. It changes when one is lost, and may change at a restart.
	// uidring_datacenter_id: Datacenter ID of the IDs composed now.
	// uidring_window_seconds: ID time left until the fence of the worker ID. Absent without a fence.
	// uidring_window_lasts_seconds: How long the generator can do without the store of worker IDs at the present rate of use. Absent without a fence.
	// uidring_renewals_total: Renewals of the worker ID that succeeded.
	// uidring_renew_failures_total: Failed renewals of a worker ID, and claims after the start.
	// uidring_rejected_takes_total: Errors that callers got in place of an ID, without those after Close.
	// uidring_ahead_seconds: How far the last ID time in use is ahead of the clock; negative when it is behind.
	// uidring_expires_timestamp_seconds: When the delta field is used up at the pace of the clock, in seconds since 1970.
	// uidring_issued_ids_total: IDs returned to callers, and IDs reserved by lanes.
	// uidring_capacity_ids: IDs in a full ring.
	// uidring_remaining_ids: IDs in the ring now.
	// uidring_retired_ids_total: IDs dropped because they were stale, to scatter sequence numbers, or at Close, Invalidate and the loss of a worker ID.
	// uidring_padding_passes_total: Padding passes that put at least one block into the ring.
	// uidring_inline_pads_total: Blocks put by callers that had found the ring empty.
	// uidring_rejected_puts_total: Padding passes that had to leave slots free: too far ahead, no lease, or the layout has ended.
}

// The metrics of package segment.
func ExampleAll_segment() {
	for _, m := range metrics.All[segment.Stats]() {
		fmt.Println(m.Name+":", m.Help)
	}
	// Output:
	// uidring_segment_remaining_ids: IDs of all sources that are ready now.
	// uidring_segment_issued_ids_total: IDs returned to callers, and IDs reserved by lanes.
	// uidring_segment_retired_ids_total: IDs dropped by Close and Invalidate.
	// uidring_segment_fetches_total: Ranges fetched.
	// uidring_segment_fetch_failures_total: Calls of sources that failed.
	// uidring_segment_rejected_takes_total: Errors that callers got in place of an ID, without those after Close.
	// uidring_segment_failed_sources: Sources whose last call has failed.
}
