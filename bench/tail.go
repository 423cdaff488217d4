package main

import (
	"context"
	"errors"
	"io"
	"time"
)

const tailUsage = `bench tail times single calls of Next, beside an atomic add, an empty call and the clock alone, and says how much of the tail
is not the library's. Nothing is subtracted from what the clock shows.

  go run ./bench tail [flags]

  -for D               time for each row (2s)
  -rate N              calls a second of the paced rows, over all goroutines (100000)
  -quick               250ms for each row unless -for says otherwise
  -csv FILE            write the rows to a file, too
  -json                print JSON instead of tables

Examples
  go run ./bench tail
  go run ./bench tail -for 20s -rate 1000000
`

func tailCommand() command {
	return command{
		name:    "tail",
		summary: "latency of single calls up to p99.999, and whose it is",
		usage:   tailUsage,
		run:     runTail,
	}
}

// tailSettings are what the command line of tail asks for.
type tailSettings struct {
	command string
	row     time.Duration // 0: the default
	rate    int64
	rounds  int
	worker  int64 // of the first generator
	quick   bool
	output
}

// newTailSettings returns the settings of tail without flags.
func newTailSettings() tailSettings {
	return tailSettings{command: "bench tail", rate: 100_000, rounds: rounds, worker: 1}
}

// share is how long each row is measured in a round.
func (s tailSettings) share() time.Duration {
	total := s.row
	switch {
	case total > 0:
	case s.quick:
		total = 250 * time.Millisecond
	default:
		total = 2 * time.Second
	}
	return total / time.Duration(s.rounds)
}

// flags returns the parser of the command line, which sets s.
func (s *tailSettings) flags() *parser {
	p := newParser("bench tail")
	p.duration("for", &s.row, 10*time.Millisecond)
	integer(p, "rate", &s.rate, 1000, 1_000_000_000)
	p.toggle("quick", &s.quick)
	s.output.flags(p)
	return p
}

func parseTail(args []string) (tailSettings, error) {
	s := newTailSettings()
	p := s.flags()
	err := p.parse(args, nil)
	s.command = p.commandLine()
	return s, err
}

// A tailReport is what tail prints.
type tailReport struct {
	facts
	RowSeconds float64   `json:"rowSeconds"` // time for each row
	Rows       []tailRow `json:"rows"`
}

// runTail is the subcommand.
func runTail(ctx context.Context, args []string, stdout, _ io.Writer) error {
	s, err := parseTail(args)
	if err != nil {
		return err
	}
	r, err := tail(ctx, s, newProgress(settings{json: s.json}, stdout))
	if err != nil {
		return err
	}
	return write(stdout, s.output, r.Rows, r, r.writeTables)
}

// tail measures what s asks for.
func tail(ctx context.Context, s tailSettings, p *progress) (r tailReport, err error) {
	r = tailReport{facts: factsOf(s.command)}
	bench, err := openTail(s.worker)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, bench.close()) }()
	t := tailer{bench: bench, pressures: pressureNames(), loads: tailLoads(float64(s.rate)), rounds: s.rounds, share: s.share()}
	r.RowSeconds = (t.share * time.Duration(t.rounds)).Seconds()
	err = p.show("timing single calls", int64(len(t.runs())*t.rounds), t.done.Load, func() (err error) {
		r.Rows, err = t.measure(ctx)
		return err
	})
	return r, err
}
