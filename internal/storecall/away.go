package storecall

import (
	"errors"
	"io"
	"net"
)

// Away marks an error of a store that does not answer, or not now: a call may succeed later.
type Away struct{ Err error }

func (a Away) Error() string { return a.Err.Error() }

// Unwrap returns the error that is marked.
func (a Away) Unwrap() error { return a.Err }

// Passes reports whether a call that failed with err may succeed later, by itself: err is Away, or
// of the network. The error numbers of the operating system count as the latter, since they
// implement [net.Error]: a folder may be mounted later, and a full disk may get space.
func Passes(err error) bool {
	_, away := errors.AsType[Away](err)
	_, network := errors.AsType[net.Error](err)
	return away || network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
