// Package daemon is the process of uidring serve: its listener, its generator with the lease of a
// worker ID, the reloading of its certificate and tokens, and the order of start and shutdown.
package daemon
