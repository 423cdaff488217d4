// Command bench does the library's main job and measures it: it takes a worker ID from a database, issues
// IDs at full speed, checks every one of them, and prints the figures. Its subcommands measure more.
//
//	go run ./bench           # from the root of the repository: SQLite in a temporary folder
//	go run ./bench -h        # flags, examples, subcommands
//	go run ./bench compare   # beside other libraries
//
// It exits with 0 when all is well, 1 when a check or a call failed, 2 when the command line is wrong, and
// 130 when it was interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main with its surroundings as arguments.
func run(args []string, stdout, stderr io.Writer) (status int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once

	c, args, err := selectCommand(commands(), args)
	if err == nil {
		err = c.run(ctx, args, stdout, stderr)
	}
	switch _, wrong := errors.AsType[*usageError](err); {
	case err == nil:
		return 0
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, c.usage)
		return 0
	case wrong:
		fmt.Fprintf(stderr, "bench: %s (%s -h explains)\n", oneLine(err), c.title())
		return 2
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "bench: interrupted")
		return 130
	default:
		fmt.Fprintf(stderr, "bench: %s\n", oneLine(err))
		return 1
	}
}

// A usageError is a mistake on the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// oneLine joins the lines of errors that were reported together.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
