// Package incidents replays, end to end, the incidents that other generators are known for: two
// hosts that derive the same worker ID from their addresses, a killed process that never gives its
// number back, many starts at once, a clock that goes back across a restart, a process that is
// paused until its number is another's, and a database that is gone for a minute.
//
// The package has tests only. Each of them starts real processes with real generators, on a real
// MariaDB or a folder on disk where a store is involved, and counts every ID that any of them
// returned.
package incidents
