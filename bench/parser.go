package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// A parser reads the flags of a command. It goes on after a mistake, to report all of them at once.
type parser struct {
	flags    *flag.FlagSet
	given    map[string]string // by name of the flag, as it may be printed
	mistakes []error
}

// newParser returns a parser without flags; name is how the command line of the command begins.
func newParser(name string) *parser {
	p := &parser{flags: flag.NewFlagSet(name, flag.ContinueOnError), given: make(map[string]string)}
	p.flags.SetOutput(io.Discard)
	p.flags.Usage = func() {}
	return p
}

// parse reads args; check, unless nil, notes mistakes that show in several flags together. The error is
// flag.ErrHelp or a *usageError that names all mistakes.
func (p *parser) parse(args []string, check func()) error {
	err := p.flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	if err != nil {
		p.mistake("%v", err)
	}
	if p.flags.NArg() > 0 {
		p.mistake("unexpected argument %q", p.flags.Arg(0))
	}
	if check != nil {
		check()
	}
	if p.mistakes != nil {
		return &usageError{errors.Join(p.mistakes...)}
	}
	return nil
}

// commandLine rebuilds the command line from the flags that were understood.
func (p *parser) commandLine() string {
	text := p.flags.Name()
	p.flags.Visit(func(f *flag.Flag) {
		text += " -" + f.Name
		if value, ok := p.given[f.Name]; ok {
			text += " " + value
		}
	})
	return text
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

func (p *parser) choice(name string, dst *string, allowed ...string) {
	p.value(name, func(text string) {
		if !slices.Contains(allowed, text) {
			p.mistake("-%s %q, allowed: %s", name, text, strings.Join(allowed, ", "))
			return
		}
		*dst = text
	})
}

// text defines a flag for the name of a file or folder.
func (p *parser) text(name string, dst *string) {
	p.value(name, func(text string) {
		if text == "" {
			p.mistake("-%s %q, allowed: a name", name, text)
			return
		}
		*dst = text
	})
}

func (p *parser) layout(name string, dst *bitsalloc.Layout) {
	p.value(name, func(text string) {
		l, err := parseLayout(text)
		if err != nil {
			p.mistake("-%s %q: %w", name, text, err)
			return
		}
		*dst = l
	})
}
