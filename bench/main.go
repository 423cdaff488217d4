// Command bench does the library's main job and measures it: it takes a worker ID from a
// database, pads the ring, takes IDs at full speed, checks every ID, and prints the figures.
//
//	go run ./bench            # from the root of the repository: SQLite in a temporary folder
//	go run ./bench -h         # flags
//	go run ./bench tune       # your load with other BoostPowers and PaddingFactors
//	go run ./bench compare    # beside other libraries
//	go run ./bench fleet      # holds a thousand leases, and prints the load of the database
//	go run ./bench soak       # takes 10^9 IDs in all ways and counts each
//	go run ./bench report     # compare and soak, written to docs/benchmarks
//
// The exit code is 0 if all is well, 1 if a check or a call failed, 2 if the command line is
// wrong, and 130 after an interrupt.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/uidring/uidring/bench/internal/report"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main with its environment as arguments.
func run(args []string, stdout, stderr io.Writer) (status int) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the report alone
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once

	name := "bench"
	var commands = map[string]func(flags *flag.FlagSet) func(context.Context, io.Writer) error{
		"bench": jobCommand, "bench tune": tuneCommand, "bench compare": compareCommand, "bench fleet": fleetCommand, "bench soak": soakCommand, "bench report": reportCommand,
	}
	if len(args) > 0 && commands["bench "+args[0]] != nil {
		name, args = "bench "+args[0], args[1:]
	}
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: bench [tune | compare | fleet | soak | report] [flags]; flags of", name+":")
		flags.PrintDefaults()
	}
	execute := commands[name](flags)
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err == nil && flags.NArg() > 0:
		fmt.Fprintf(stderr, "bench: argument %q, allowed: tune, compare, fleet, soak, report, or none, then flags; see %s -h\n", flags.Arg(0), name)
		return 2
	case err != nil:
		return 2
	}
	if err = execute(ctx, stdout); err == nil {
		return 0
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		fmt.Fprintln(stderr, "bench: interrupted")
		return 130
	}
	fmt.Fprintf(stderr, "bench: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
	return 1
}

// commandLine returns the command line that repeats a command, without the password in a DSN.
func commandLine(flags *flag.FlagSet) string {
	text := flags.Name()
	flags.Visit(func(f *flag.Flag) {
		value := f.Value.String()
		if f.Name == "dsn" {
			value = "DSN"
		}
		text += " -" + f.Name + "=" + value
	})
	return text
}

// show prints a result.
func show(w io.Writer, print func(*report.Page)) error {
	p := report.NewPage(w)
	print(p)
	return p.Flush()
}
