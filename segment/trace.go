package segment

import "time"

// Trace holds funcs for rare events. Failures are in the log and in Stats.
type Trace struct {
	// Fetched, unless nil, is called when a range has been fetched. The goroutine that fetches
	// calls it, under no lock; each source has a goroutine. A func must not wait, take IDs or call
	// Close: it starts a goroutine for that. A panic is recovered and logged; a func must not call
	// runtime.Goexit.
	Fetched func(FetchedInfo)
}

// FetchedInfo describes a range that was fetched.
type FetchedInfo struct {
	Source int // 0: Config.Source; i: Config.Others[i-1]
	Range  Range
	Took   time.Duration // the call of the source
}
