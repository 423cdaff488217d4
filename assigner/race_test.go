//go:build race

package assigner

const raceEnabled = true
