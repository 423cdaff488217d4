package main

import (
	"context"
	"io"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const compareUsage = `bench compare measures this library beside others, and beside what they are built from.

  go run ./bench compare [flags]

In each round every contestant has one lap on 1 goroutine and one on all CPUs, in random order, so that
what disturbs the machine hits all alike; this library and the baselines also run on more goroutines. The figures
are medians over the rounds. Ratios are to the atomic add of the same round, on one goroutine. What is capped by the format
of its IDs says so: there the time is that of waiting.

  -rounds N            how many (5)
  -lap D               how long a lap takes (100ms)
  -goroutines LIST     how many goroutines else, up to 65536 each (1,2,8,64,1024)
  -quick               3 rounds of laps of 20ms: under 20 s, for a first look
  -csv FILE            also write the rows there
  -json                one JSON object instead of tables

Examples
  go run ./bench compare
  go run ./bench compare -rounds 9 -lap 250ms -csv compare.csv
`

func compareCommand() command {
	return command{"compare", "this library beside others, and beside what they are built from", compareUsage, runCompare}
}

type compareSettings struct {
	commandLine string
	rounds      int
	lap         time.Duration
	many        []int // goroutines
	output
}

// A compareParser reads the flags of compare.
type compareParser struct {
	*parser
	s     compareSettings
	quick bool
}

func newCompareParser() *compareParser {
	p := &compareParser{
		parser: newParser("bench compare"),
		s:      compareSettings{rounds: 5, lap: 100 * time.Millisecond, many: []int{1, 2, 8, 64, 1024}},
	}
	integer(p.parser, "rounds", &p.s.rounds, 1, 1000)
	p.duration("lap", &p.s.lap, time.Millisecond)
	p.value("goroutines", p.setMany)
	p.toggle("quick", &p.quick)
	p.s.output.flags(p.parser)
	return p
}

func parseCompare(args []string) (compareSettings, error) {
	p := newCompareParser()
	err := p.parse(args, nil)
	if _, given := p.given["rounds"]; p.quick && !given {
		p.s.rounds = 3
	}
	if _, given := p.given["lap"]; p.quick && !given {
		p.s.lap = 20 * time.Millisecond
	}
	p.s.commandLine = p.commandLine()
	return p.s, err
}

func (p *compareParser) setMany(text string) {
	const most = 1 << 16
	p.s.many = nil
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 || n > most {
			p.mistake("-goroutines %q, allowed: whole numbers from 1 to %d, separated by commas", text, most)
			return
		}
		p.s.many = append(p.s.many, n)
	}
}

func runCompare(ctx context.Context, args []string, stdout, _ io.Writer) error {
	s, err := parseCompare(args)
	if err != nil {
		return err
	}
	c, err := compare(ctx, s, newProgress(settings{json: s.json}, stdout))
	if err != nil {
		return err
	}
	return write(stdout, s.output, c.Rows, c, c.writeTables)
}

// compare holds the whole comparison.
func compare(ctx context.Context, s compareSettings, p *progress) (comparison, error) {
	c := comparison{facts: factsOf(s.commandLine), Rounds: s.rounds, LapMs: s.lap.Seconds() * 1e3}
	all := events(contestants(), runtime.GOMAXPROCS(0), s.many)
	var laps atomic.Int64
	err := p.show("comparing", int64(s.rounds*len(all)), laps.Load, func() error {
		return hold(ctx, all, s.rounds, s.lap, func() { laps.Add(1) })
	})
	if err != nil {
		return c, err
	}
	c.Rows = compared(all)
	return c, nil
}
