//go:build race

package main

// raceEnabled says that the race detector is on, which makes everything many times slower.
const raceEnabled = true
