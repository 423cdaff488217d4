package storecall

// Away marks an error of a store that does not answer: a call may succeed later.
type Away struct{ Err error }

func (a Away) Error() string { return a.Err.Error() }

// Unwrap returns the error that is marked.
func (a Away) Unwrap() error { return a.Err }
