package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/uidring/uidring/bitsalloc"
)

// parse reads the command line. The error is flag.ErrHelp or a *usageError that names all mistakes.
func parse(args []string) (settings, error) {
	p := newParser()
	err := p.flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return settings{}, err
	}
	if err != nil {
		p.mistake("%v", err)
	}
	if p.flags.NArg() > 0 {
		p.mistake("unexpected argument %q", p.flags.Arg(0))
	}
	p.checkTogether()
	if p.mistakes != nil {
		return settings{}, &usageError{errors.Join(p.mistakes...)}
	}
	p.s.command = p.command()
	return p.s, nil
}

// A parser goes on after a mistake, to report all of them at once.
type parser struct {
	flags    *flag.FlagSet
	s        settings
	given    map[string]string // by name of the flag
	mistakes []error
}

func newParser() *parser {
	p := &parser{
		flags: flag.NewFlagSet("bench", flag.ContinueOnError),
		given: make(map[string]string),
		s: settings{
			worker:        -1,
			layout:        bitsalloc.Default(),
			boostPower:    3,
			paddingFactor: 50,
			onEmpty:       "pad",
			goroutines:    runtime.GOMAXPROCS(0),
			duration:      3 * time.Second,
			check:         100_000_000,
		},
	}
	p.flags.SetOutput(io.Discard)
	p.flags.Usage = func() {}
	p.value("dsn", p.setDSN)
	p.toggle("create", &p.s.create)
	integer(p, "worker", &p.s.worker, 0, math.MaxInt64)
	integer(p, "datacenter", &p.s.datacenter, 0, math.MaxInt64)
	p.value("layout", p.setLayout)
	integer(p, "boost-power", &p.s.boostPower, 1, 20)
	integer(p, "padding-factor", &p.s.paddingFactor, 1, 99)
	p.duration("schedule", &p.s.schedule, 0)
	p.value("on-empty", p.setOnEmpty)
	integer(p, "goroutines", &p.s.goroutines, 1, 1<<16)
	integer(p, "batch", &p.s.batch, 0, 1<<20)
	p.value("rate", p.setRate)
	p.duration("duration", &p.s.duration, time.Millisecond)
	integer(p, "check", &p.s.check, 0, math.MaxInt64)
	p.toggle("json", &p.s.json)
	return p
}

func (p *parser) mistake(format string, args ...any) {
	p.mistakes = append(p.mistakes, fmt.Errorf(format, args...))
}

// value defines a flag with a value; set notes what is wrong with it.
func (p *parser) value(name string, set func(text string)) {
	p.flags.Func(name, "", func(text string) error {
		p.given[name] = text
		set(text)
		return nil
	})
}

// toggle defines a flag that needs no value.
func (p *parser) toggle(name string, dst *bool) {
	p.flags.BoolFunc(name, "", func(text string) error {
		on, err := strconv.ParseBool(text)
		if err != nil {
			p.mistake("-%s %q, allowed: true, false", name, text)
			return nil
		}
		*dst = on
		return nil
	})
}

func integer[T int | int64](p *parser, name string, dst *T, least, most T) {
	p.value(name, func(text string) {
		n, err := strconv.ParseInt(text, 0, 64)
		switch {
		case err == nil && n >= int64(least) && n <= int64(most):
			*dst = T(n)
		case int64(most) == math.MaxInt64:
			p.mistake("-%s %q, allowed: a whole number from %d up", name, text, least)
		default:
			p.mistake("-%s %q, allowed: a whole number from %d to %d", name, text, least, most)
		}
	})
}

func (p *parser) duration(name string, dst *time.Duration, least time.Duration) {
	p.value(name, func(text string) {
		d, err := time.ParseDuration(text)
		if err != nil || d < least {
			p.mistake("-%s %q, allowed: a time such as 500ms or 3s, at least %v", name, text, least)
			return
		}
		*dst = d
	})
}

func (p *parser) setRate(text string) {
	r, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(r) || r < 0 || r > 1e12 {
		p.mistake("-rate %q, allowed: 0 (flat out) to 1e12 IDs per second", text)
		return
	}
	p.s.rate = r
}

func (p *parser) setOnEmpty(text string) {
	if text != "pad" && text != "reject" {
		p.mistake("-on-empty %q, allowed: pad, reject", text)
		return
	}
	p.s.onEmpty = text
}

func (p *parser) setLayout(text string) {
	l, err := parseLayout(text)
	if err != nil {
		p.mistake("-layout %q: %w", text, err)
		return
	}
	p.s.layout = l
}

// setDSN takes care that nothing of the DSN but user, host and database is ever printed: where a password
// ends is not certain in one that is wrong.
func (p *parser) setDSN(text string) {
	cfg, err := mysql.ParseDSN(text)
	if err != nil || cfg.DBName == "" {
		p.mistake("-dsn is not understood, allowed: user:password@tcp(host:port)/database")
		return
	}
	p.s.dsn, p.s.database = text, cfg.Addr+"/"+cfg.DBName
	if cfg.User != "" {
		p.s.database = cfg.User + "@" + p.s.database
	}
	p.given["dsn"] = p.s.database
}

// checkTogether checks what depends on more than one flag.
func (p *parser) checkTogether() {
	_, static := p.given["worker"]
	_, mySQL := p.given["dsn"]
	if static && mySQL {
		p.mistake("-worker and -dsn: a worker ID comes from one place, leave one out")
	}
	if p.s.create && !mySQL {
		p.mistake("-create without -dsn: there is no database to create tables in")
	}
	if most := int64(1)<<p.s.layout.WorkerBits - 1; p.s.worker > most {
		p.mistake("-worker %d, allowed with layout %v: 0 to %d", p.s.worker, p.s.layout, most)
	}
	if most := int64(1)<<p.s.layout.DatacenterBits - 1; p.s.datacenter > most {
		p.mistake("-datacenter %d, allowed with layout %v: 0 to %d", p.s.datacenter, p.s.layout, most)
	}
}

// command rebuilds the command line from the flags that were understood.
func (p *parser) command() string {
	text := "bench"
	p.flags.Visit(func(f *flag.Flag) {
		text += " -" + f.Name
		if value, ok := p.given[f.Name]; ok {
			text += " " + value
		}
	})
	return strings.TrimSpace(text)
}
