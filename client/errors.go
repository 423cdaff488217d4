package client

import (
	"fmt"
	"strings"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/generator"
)

// The errors of package uidring, as a Client returns them.
var (
	// ErrInvalidConfig means that the Config has a mistake. The text names every field that is
	// wrong, and the values allowed.
	ErrInvalidConfig = uidring.ErrInvalidConfig
	// ErrEmpty means that no ID is in memory at the moment. Only [Client.Next] returns it.
	ErrEmpty = uidring.ErrEmpty
	// ErrClosed means that the Client was closed.
	ErrClosed = uidring.ErrClosed
)

// A ProblemError is an answer of a server without IDs, as RFC 9457 describes it. A call returns it
// if every server rejects the request: the token is unknown (status 401), the batch is larger than
// the servers allow (400), or they have no such segment (404).
type ProblemError struct {
	Server string // its URL
	Status int
	Type   string // stable, such as https://github.com/uidring/uidring/blob/main/docs/SERVICE.md#unauthorized
	Title  string
	Detail string // for people

	retryAfter time.Duration
}

func (e *ProblemError) Error() string {
	parts := []string{"client", e.Server, fmt.Sprintf("status %d", e.Status)}
	for _, said := range []string{e.Title, e.Detail} {
		if said != "" {
			parts = append(parts, fmt.Sprintf("%.500q", said))
		}
	}
	return strings.Join(parts, ": ")
}

// rejects reports whether the request is at fault, so that the server would reject it again.
func (e *ProblemError) rejects() bool {
	return e.Status < 500 && e.Status != 408 && e.Status != 429
}

// An UnavailableError means that no server gave IDs until the context of the call ended.
type UnavailableError struct {
	Cause   error         // the cause of the end of the context
	Servers []error       // the last error of each server that is not well; *ProblemError or an error of package net/http
	ended   error         // of the context
	after   time.Duration // until a server is asked
}

// RetryAfter returns the time until the client asks a server again, at least a second.
func (e *UnavailableError) RetryAfter() time.Duration { return max(e.after, time.Second) }

func (e *UnavailableError) Error() string {
	parts := []string{fmt.Sprintf("client: no server gave IDs in time: %v", e.Cause)}
	for _, err := range e.Servers {
		parts = append(parts, strings.TrimPrefix(err.Error(), "client: "))
	}
	return strings.Join(parts, "; ")
}

// Unwrap returns ErrEmpty, Cause, the error of the context, and Servers. A timeout of a request is
// not context.DeadlineExceeded.
func (e *UnavailableError) Unwrap() []error {
	errs := []error{ErrEmpty, e.Cause, e.ended}
	for _, err := range e.Servers {
		errs = append(errs, generator.Detach(err))
	}
	return errs
}
