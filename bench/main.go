// Command bench does the library's main job and measures it: it takes a worker ID from a database,
// issues IDs at full speed, checks every ID, and prints the figures. Its subcommands measure more.
//
//	go run ./bench            # from the root of the repository: SQLite in a temporary folder
//	go run ./bench --help     # flags, examples, subcommands
//	go run ./bench compare    # beside other libraries
//
// The exit code is 0 if all is well, 1 if a check or a call failed, 2 if the command line is wrong,
// and 130 after an interrupt.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/uidring/uidring/bench/internal/report"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main with its environment as arguments.
func run(args []string, stdout, stderr io.Writer) (status int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once

	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	switch _, wrong := errors.AsType[*usageError](err); {
	case err == nil:
		return 0
	case wrong:
		status = 2
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "bench: interrupted")
		return 130
	default:
		status = 1
	}
	fmt.Fprintf(stderr, "bench: %s\n", report.Lines(err))
	return status
}

// newRoot returns the program: the main job with the other commands below it.
func newRoot() *cobra.Command {
	root := newJob(new(settings))
	root.AddCommand(newCompare(new(compareSettings)), newSweep(new(sweepSettings)), newTail(new(tailSettings)),
		newSoak(new(soakSettings)), newReport(new(reportSettings)))
	root.CompletionOptions.DisableDefaultCmd = true
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
	})
	return root
}

// noArgs refuses arguments; on the root command an argument is a command that does not exist.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !cmd.HasSubCommands() {
		return &usageError{fmt.Errorf("unexpected argument %q; see %s --help", args[0], cmd.CommandPath())}
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.Name() != "help" {
			names = append(names, c.Name())
		}
	}
	return &usageError{fmt.Errorf("unknown command %q, allowed: %s, or none", args[0], strings.Join(names, ", "))}
}

// A usageError is a mistake on the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }
