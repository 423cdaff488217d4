package segment

import "time"

// Trace holds funcs for rare events; each may be nil. The goroutine that meets the event calls the
// func, under no lock, and waits for it. Several goroutines may call a func at once. A panic in a
// func is recovered and logged.
type Trace struct {
	// Fetched is called when a range has been fetched.
	Fetched func(FetchedInfo)
	// FetchFailed is called when a source has failed. The generator retries, unless the error is
	// permanent.
	FetchFailed func(source int, err error)
	// TakeRejected is called when a method that issues IDs returns an error other than ErrClosed.
	TakeRejected func(err error)
}

// FetchedInfo describes a range that was fetched.
type FetchedInfo struct {
	Source int // 0: Config.Source; i: Config.Others[i-1]
	Range  Range
	Took   time.Duration // the call of the source
}
