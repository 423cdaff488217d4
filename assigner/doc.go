// Package assigner finds worker IDs: the part of an ID that keeps two processes apart.
//
// Two generators with the same datacenter and worker ID produce the same IDs. Where the number comes
// from decides how far it can be trusted; [Guarantee] names the levels. The assigners of this package
// derive the number from configuration or from the host and protect it within one process only.
// Package sqlassigner, below this one, takes numbers from a database.
//
// To bring your own, implement [Assigner] and [Lease], and run the suite of package assignertest on it.
package assigner
