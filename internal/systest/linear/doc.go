// Package linear checks recorded histories of package ringbuffer for linearizability: each behaves
// like a queue of blocks that does one operation at a time. The package contains only tests.
package linear
