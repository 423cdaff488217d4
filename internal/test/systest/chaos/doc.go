// Package chaos tests fenced leases under fault injection and counts every ID: many processes, the
// holders, each with a generator of package cached, take turns on a few worker IDs of a real
// MySQL, MariaDB or PostgreSQL. The faults:
//
//   - Holders are stopped for longer than their lease and continued, replaced while they are
//     stopped, killed, or given wrong clocks.
//   - Rolling deployments replace all holders in turn, which end in order. Crash loops kill a
//     holder up to 20 times in a row.
//   - The server is killed with SIGKILL and started again on its data.
//   - A proxy between each holder and the server delays, throttles, cuts and refuses connections.
//   - The rows are put back to a dump of some seconds before, followed by [leasestore.Recover].
//
// Each holder writes every ID that its generator returns to its standard output. The judge counts
// them by worker ID, delta and sequence. A run fails on a duplicate ID, on two holders that share
// the IDs of one worker ID and delta, on undocumented errors, and on too few faults.
//
// TestDays has the deployments and crash loops alone, on a server that is well at each start. A
// start that fails, and a first ID too far ahead of the clock, fail the run.
//
// Two incidents that other generators are known for run as scripts of the same holders.
//
//	make chaos TIME=10m
//	go test -v -timeout 0 -run TestChaos ./chaos -chaos.for=10m -chaos.seed=7
//	go test -v -timeout 0 -run TestChaos ./chaos -chaos.flush=0   # shows why the durability check exists
//
// The seed determines the faults and the time between them, but not the state of the holders at
// that time: runs with the same seed are similar, not identical.
package chaos

import (
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

const (
	slots   = 16 // holders at a time, without the replaced ones
	workers = 8  // all worker IDs of the layout

	// assignTimeout bounds each call of a generator to the store, except on ordinary days.
	assignTimeout = time.Second
	// maxSkew is the allowed error of clocks; some clocks exceed it.
	maxSkew = time.Minute
	// recoveryLead is more than any fence grows by between a dump and the end of its restore.
	recoveryLead = time.Hour
	// maxLead is more than the recoveries of a run add up to.
	maxLead = 365 * 24 * time.Hour
)

// layout has short units, so that much happens in one lease, and room for 10,000 IDs a second and
// worker ID at the pace of the clock: some holders are slower than that, some run ahead of it.
func layout() bitsalloc.Layout {
	return bitsalloc.Layout{DeltaBits: 36, WorkerBits: 3, SequenceBits: 10, Unit: 100 * time.Millisecond}
}
