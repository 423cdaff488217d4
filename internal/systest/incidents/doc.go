// Package incidents replays, end to end, incidents that other generators are known for: two hosts
// that derive the same worker ID from their addresses, a killed process that never releases its
// worker ID, many starts at once, a clock that goes back across a restart, a process that is paused
// until another one has its worker ID, and a database that is down for a minute.
//
// The package contains only tests. Each test starts real processes with real generators, with a
// real MariaDB or a folder on disk as the store, and counts every ID that the processes return.
package incidents
