package main

import "path"

// A target is a package to mutate, and the tests that may kill its mutants: quick ones first, the
// next only for survivors of the last.
type target struct {
	dir    string
	stages []stage
}

// A stage is the tests of a package, except for tests whose names match skip.
type stage struct {
	dir, skip string
	race      bool // with the race detector, for mutants that change the order of memory
}

// costs are tests that measure or read the machine code, which all mutants together change, and
// tests that run the go command.
const costs = "Inlined|PartsInline|OneAllocation|AllocatesABlock|NoMemory|KiB|BuildTags|DatabaseDriver|RaceDetector"

func targets() []target {
	tests := func(dir string) stage { return stage{dir: dir, skip: costs} }
	quick := func(dir, skip string) stage { return stage{dir: dir, skip: costs + "|" + skip} }
	race := func(dir string) stage { return stage{dir, costs, true} }
	ring := quick("ringbuffer", "EveryID|Original|Drained")
	cached := quick("cached", "Spread|Example|AfterClose|Million|EveryID|Conformance")
	defaultgen := quick("defaultgen", "UnderLoad|ExactlyOnce|Spread|AnyClock|Conformance")
	const schedules = "Simulation|Starve|RunAway|Replays"
	workers := quick("assigner", schedules)
	return []target{
		{"ringbuffer", []stage{ring, tests("ringbuffer"), cached, race("ringbuffer")}},
		{"cached", []stage{cached, tests("cached"), race("cached")}},
		{"internal/keeper", []stage{tests("internal/keeper"), race("internal/keeper"), cached, defaultgen, tests("cached")}},
		{"internal/take", []stage{tests("internal/take"), cached, tests("segment"), tests("cached")}},
		{"defaultgen", []stage{defaultgen, tests("defaultgen"), race("defaultgen")}},
		{"bitsalloc", []stage{tests("bitsalloc")}},
		{"assigner", []stage{workers, tests("assigner"), {"assigner", costs + "|" + schedules, true}}},
	}
}

// importPath returns the path of a package of the library.
func importPath(dir string) string { return path.Join("github.com/uidring/uidring", dir) }
