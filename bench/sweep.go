package main

import (
	"context"
	"io"
	"strings"
	"time"
)

const sweepUsage = `bench sweep measures Next with many settings, each in turns with an atomic add: time per ID, takes that were rejected, runs
that callers had to put themselves, tail latency, and how far ID time gets from the clock.

  go run ./bench sweep [flags]

  -only LIST           sweeps, separated by commas (all of them):
                         ring        boost power × padding factor × on empty, on one goroutine and on all CPUs
                         goroutines  1 to 1024, one ordered stream and lanes
                         sequence    0 to 20 sequence bits
                         delta       25 to 32 delta bits, 20 worker bits
                         worker      20 to 29 worker bits, 31 delta bits
                         consumers   1 to 8 goroutines, layout 31/0/23/9
  -cell D              time for each setting (1s)
  -quick               fewer settings, 300ms each unless -cell says otherwise
  -csv FILE            write the rows to a file, too
  -json                print JSON instead of tables

Examples
  go run ./bench sweep
  go run ./bench sweep -only ring,goroutines -cell 2s -csv ring.csv
`

func sweepCommand() command {
	return command{
		name:    "sweep",
		summary: "Next with many settings: which of them matter",
		usage:   sweepUsage,
		run:     runSweep,
	}
}

// sweepSettings are what the command line of sweep asks for.
type sweepSettings struct {
	command string
	only    []string
	cell    time.Duration // 0: the default
	rounds  int
	quick   bool
	output
}

// newSweepSettings returns the settings of a sweep without flags.
func newSweepSettings() sweepSettings {
	return sweepSettings{command: "bench sweep", only: sweepNames(), rounds: rounds}
}

// share is how long each cell is measured in a round.
func (s sweepSettings) share() time.Duration {
	total := s.cell
	switch {
	case total > 0:
	case s.quick:
		total = 300 * time.Millisecond
	default:
		total = time.Second
	}
	return total / time.Duration(s.rounds)
}

// flags returns the parser of the command line, which sets s.
func (s *sweepSettings) flags() *parser {
	p := newParser("bench sweep")
	p.several("only", &s.only, sweepNames())
	p.duration("cell", &s.cell, 10*time.Millisecond)
	p.toggle("quick", &s.quick)
	s.output.flags(p)
	return p
}

func parseSweep(args []string) (sweepSettings, error) {
	s := newSweepSettings()
	p := s.flags()
	err := p.parse(args, nil)
	s.command = p.commandLine()
	return s, err
}

// A sweepReport is what sweep prints.
type sweepReport struct {
	facts
	Rounds      int        `json:"rounds"`
	CellSeconds float64    `json:"cellSeconds"` // time for each row
	Rows        []sweepRow `json:"rows"`
}

// runSweep is the subcommand.
func runSweep(ctx context.Context, args []string, stdout, _ io.Writer) error {
	s, err := parseSweep(args)
	if err != nil {
		return err
	}
	r, err := sweep(ctx, s, newProgress(settings{json: s.json}, stdout))
	if err != nil {
		return err
	}
	return write(stdout, s.output, r.Rows, r, r.writeTables)
}

// sweep measures what s asks for.
func sweep(ctx context.Context, s sweepSettings, p *progress) (sweepReport, error) {
	r := sweepReport{facts: factsOf(s.command), Rounds: s.rounds}
	w := sweeper{cells: sweepCells(s.only, s.quick), rounds: s.rounds, share: s.share()}
	r.CellSeconds = (w.share * time.Duration(w.rounds)).Seconds()
	err := p.show(strings.Join(s.only, ", "), int64(len(w.cells)*w.rounds), w.done.Load, func() (err error) {
		r.Rows, err = w.run(ctx)
		return err
	})
	return r, err
}
