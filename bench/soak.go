package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

const soakUsage = `bench soak takes IDs in every way there is and counts each of them in a bitmap: an ID that was there before, one out of order, one of
another worker ends the program with status 1. At the end of each mode the books of the generator have to agree with the bitmap.

  go run ./bench soak [flags]

  -ids N               how many IDs in each mode, at least (1000000000)
  -only LIST           modes, separated by commas (all of them):
                       %s
  -quick               20,000,000 IDs unless -ids says otherwise
  -csv FILE            write the rows to a file, too
  -json                print JSON instead of lines

The bitmap of a mode takes up to 256 MiB however many IDs there are. Where IDs were retired, the oldest part is given up then, and an ID
that belongs to it is an error.

Examples
  go run ./bench soak
  go run ./bench soak -ids 10_000_000_000 -only next,lanes
`

func soakCommand() command {
	return command{
		name:    "soak",
		summary: "a thousand million IDs in every mode, each counted exactly once",
		usage:   soakHelp(),
		run:     runSoak,
	}
}

// soakHelp returns the usage with the names of all modes.
func soakHelp() string {
	var list []string
	for _, m := range soakModes() {
		list = append(list, fmt.Sprintf("  %-14s %s", m.name, m.summary))
	}
	return fmt.Sprintf(soakUsage, strings.Join(list, "\n                       "))
}

// soakSettings are what the command line of soak asks for.
type soakSettings struct {
	command string
	ids     int64 // 0: the default
	only    []string
	worker  int64 // of the first generator
	quick   bool
	output
}

// newSoakSettings returns the settings of soak without flags.
func newSoakSettings() soakSettings {
	return soakSettings{command: "bench soak", only: soakNames(), worker: 1}
}

// target is how many IDs to take in each mode.
func (s soakSettings) target() int64 {
	switch {
	case s.ids > 0:
		return s.ids
	case s.quick:
		return 20_000_000
	default:
		return 1_000_000_000
	}
}

// flags returns the parser of the command line, which sets s.
func (s *soakSettings) flags() *parser {
	p := newParser("bench soak")
	integer(p, "ids", &s.ids, 1, math.MaxInt64)
	p.several("only", &s.only, soakNames())
	p.toggle("quick", &s.quick)
	s.output.flags(p)
	return p
}

func parseSoak(args []string) (soakSettings, error) {
	s := newSoakSettings()
	p := s.flags()
	err := p.parse(args, nil)
	s.command = p.commandLine()
	return s, err
}

// A soakReport is what soak prints.
type soakReport struct {
	facts
	Rows  []soakRow `json:"rows"`
	Total soakTotal `json:"total"`
}

// runSoak is the subcommand.
func runSoak(ctx context.Context, args []string, stdout, _ io.Writer) error {
	s, err := parseSoak(args)
	if err != nil {
		return err
	}
	lines := stdout
	if s.json {
		lines = io.Discard
	}
	r, err := soak(ctx, s, newProgress(settings{json: s.json}, stdout), lines)
	if err != nil {
		return err
	}
	return write(stdout, s.output, r.Rows, r, func(io.Writer) error { return nil }) // its lines are written already
}

// soak runs the modes that s asks for, and writes a line to w when one has ended.
func soak(ctx context.Context, s soakSettings, p *progress, w io.Writer) (soakReport, error) {
	r := soakReport{facts: factsOf(s.command)}
	out := printer{bufio.NewWriter(w)}
	r.print(out)
	printSoakHead(out)
	for i, mode := range soakModes() {
		if !slices.Contains(s.only, mode.name) {
			continue
		}
		if err := out.Flush(); err != nil {
			return r, err
		}
		k := soaking{mode: mode, target: s.target()}
		err := p.show(mode.summary, k.target, k.taken.Load, func() error {
			row, err := k.run(ctx, s.worker+int64(i))
			r.Rows = append(r.Rows, row)
			return err
		})
		if err != nil {
			return r, fmt.Errorf("soak: %s: %w", mode.name, err)
		}
		r.Rows[len(r.Rows)-1].print(out)
	}
	r.Total = totalOf(r.Rows)
	r.Total.print(out)
	return r, out.Flush()
}
