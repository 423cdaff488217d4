// Package chaos puts fenced leases under fire and counts every ID: many processes, each with a
// generator of package cached, take turns on a few worker IDs of a real MariaDB.
//
// All the while processes are stopped for longer than their leases last and go on afterwards,
// killed, replaced while they are stopped, and given wrong clocks; the server is killed with
// SIGKILL and started again on its data; a proxy between each process and the server delays,
// starves, cuts and refuses connections; and the tables are put back to what they were some seconds
// before, followed by [assigner.Recover].
//
// Each process writes every ID that its generator has returned into a pipe, in batches. The parent
// counts them by worker ID, delta and sequence. No ID may come twice, no two processes may share
// the IDs of one worker ID and delta, and every error must be one that the packages document. A run
// in which too little has happened fails as well.
//
// It is a test, since the server of the run is one of package testserver:
//
//	make chaos TIME=10m
//	go test -v -timeout 0 -run TestChaos . -chaos.for=10m -chaos.seed=7
//	go test -v -timeout 0 -run TestChaos . -chaos.flush=0     # what the check of durability protects from
//
// The seed decides what happens and how far apart, not how it falls in with what the processes are
// doing: a run with the same seed is a similar one, not the same one.
package chaos
