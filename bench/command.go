package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// A command is one of the program's subcommands: its first argument, when that has no leading dash.
type command struct {
	name    string
	summary string // one line for the list of commands
	usage   string // what -h prints
	run     runFunc
}

// A runFunc does the work of a command. It returns flag.ErrHelp when -h was among args, and a *usageError that
// names all mistakes for a wrong command line.
type runFunc func(ctx context.Context, args []string, stdout, stderr io.Writer) error

// title is how a command line with the command begins.
func (c command) title() string { return strings.TrimSpace("bench " + c.name) }

// commands returns all there are. The first has no name: it runs when none is given.
func commands() []command {
	plain := command{name: "", usage: usage, run: runBenchmark}
	return []command{plain, compareCommand(), sweepCommand(), tailCommand(), soakCommand(), reportCommand()}
}

// selectCommand returns the command that a command line asks for, and the arguments that are left for it. With an error
// it returns the one without a name.
func selectCommand(list []command, args []string) (command, []string, error) {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return list[0], args, nil
	}
	var names []string
	for _, c := range list[1:] {
		if c.name == args[0] {
			return c, args[1:], nil
		}
		names = append(names, c.name)
	}
	return list[0], nil, &usageError{fmt.Errorf("unknown command %q, allowed: %s, or none", args[0], strings.Join(names, ", "))}
}

// facts head what a command has measured: what was run, when and where.
type facts struct {
	Command string    `json:"command"`
	Date    time.Time `json:"date"`
	Machine machine   `json:"machine"`
}

// factsOf returns the facts of a measurement that begins now; commandLine is that of its parser.
func factsOf(commandLine string) facts {
	return facts{commandLine, time.Now().UTC().Truncate(time.Second), thisMachine()}
}

// writeJSON writes v as people and programs can read it.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
