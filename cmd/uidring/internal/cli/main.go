// Package cli is the command line of uidring, with one file for each command. docs/COMMAND.md is
// its reference.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The exit codes.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUnconfirmed = 3
	exitNotAbove    = 4
	exitUsage       = 64  // EX_USAGE of sysexits.h; 2 is a crash of a Go program
	exitInterrupted = 130 // 128 + SIGINT, as in a shell
)

// Main runs the command and returns its exit code. An error is one line on stderr.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	s := &streams{in: stdin, out: stdout, err: stderr}
	root := newRoot(s)
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	if err != nil && !s.began { // cobra has rejected flags or arguments, or readSettings a variable
		err = usagef("%w\nsee %s --help", err, cmd.CommandPath())
	}
	return s.exit(err)
}

// exit prints an error, and returns the exit code.
func (s *streams) exit(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errReported):
		return exitFailure
	case errors.Is(err, errNotAbove):
		return exitNotAbove
	}
	s.complain(err)
	switch _, usage := errors.AsType[usageError](err); {
	case usage:
		return exitUsage
	case errors.Is(err, errUnconfirmed):
		return exitUnconfirmed
	case errors.Is(err, context.Canceled): // by a signal
		return exitInterrupted
	}
	return exitFailure
}

// complain writes an error to stderr as one line.
func (s *streams) complain(err error) {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	fmt.Fprintln(s.err, "uidring: "+strings.TrimPrefix(settingNames.Replace(strings.Join(lines, "; ")), "uidring: "))
}

// errUnconfirmed: the flag yes is missing.
var errUnconfirmed = errors.New("not confirmed, nothing was changed")

// errReported ends a command that has already printed its errors line by line.
var errReported = errors.New("reported")

// errNotAbove ends migrate check after a report whose new IDs are not above the old ones.
var errNotAbove = errors.New("not above")

// A usageError is an invalid flag, argument, environment variable or setting.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }
