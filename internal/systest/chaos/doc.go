// Package chaos tests fenced leases under fault injection and counts every ID: many processes,
// each with a generator of package cached, take turns on a few worker IDs of a real MariaDB. The
// faults:
//
//   - Processes are stopped for longer than their lease and continued, replaced while they are
//     stopped, killed, or given wrong clocks.
//   - The server is killed with SIGKILL and started again on its data.
//   - A proxy between each process and the server delays, throttles, cuts and refuses connections.
//   - The tables are restored to a dump of some seconds before, followed by [leasestore.Recover].
//
// Each process writes every ID that its generator returns into a pipe, in batches. The parent
// counts the IDs by worker ID, delta and sequence. A run fails on a duplicate ID, on two
// processes that share the IDs of one worker ID and delta, and on undocumented errors. A run
// with too few faults fails as well.
//
// Two incidents that other generators are known for run as scripts of the same processes.
//
// The run is a test, because package testserver starts its server:
//
//	make chaos TIME=10m
//	go test -v -timeout 0 -run TestChaos ./chaos -chaos.for=10m -chaos.seed=7
//	go test -v -timeout 0 -run TestChaos ./chaos -chaos.flush=0   # shows why the durability check exists
//
// The seed determines the faults and the time between them, but not the state of the processes at
// that time: runs with the same seed are similar, not identical.
package chaos
