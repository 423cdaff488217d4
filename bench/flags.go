package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/uidring/uidring/bench/internal/report"
)

// A value is a flag whose parse func checks its bounds.
type value[T any] struct {
	dst        *T
	kind, text string
	parse      func(text string) (T, error)
}

func (v *value[T]) Set(text string) error {
	parsed, err := v.parse(text)
	if err == nil {
		*v.dst, v.text = parsed, text
	}
	return err
}

func (v *value[T]) String() string { return v.text }
func (v *value[T]) Type() string   { return v.kind }

// add defines a flag with a value. If preset is not empty, it is the default.
func add[T any](cmd *cobra.Command, dst *T, name, kind, preset, usage string, parse func(text string) (T, error)) {
	v := &value[T]{dst: dst, kind: kind, parse: parse}
	if preset != "" {
		if err := v.Set(preset); err != nil {
			panic("bug: --" + name + ": " + err.Error())
		}
	}
	cmd.Flags().Var(v, name, usage)
}

func number[T int | int64](least, most T) func(string) (T, error) {
	return func(text string) (T, error) {
		n, err := strconv.ParseInt(text, 0, 64)
		switch {
		case err == nil && n >= int64(least) && n <= int64(most):
			return T(n), nil
		case int64(most) == math.MaxInt64:
			return 0, fmt.Errorf("allowed: a whole number from %d up", least)
		}
		return 0, fmt.Errorf("allowed: a whole number from %d to %d", least, most)
	}
}

func duration(least time.Duration) func(string) (time.Duration, error) {
	return func(text string) (time.Duration, error) {
		d, err := time.ParseDuration(text)
		if err != nil || d < least {
			return 0, fmt.Errorf("allowed: a time such as 500ms or 3s, at least %v", least)
		}
		return d, nil
	}
}

func choice(allowed ...string) func(string) (string, error) {
	return func(text string) (string, error) {
		if !slices.Contains(allowed, text) {
			return "", fmt.Errorf("allowed: %s", strings.Join(allowed, ", "))
		}
		return text, nil
	}
}

// several parses names with commas between them. The result has the order of allowed.
func several(allowed []string) func(string) ([]string, error) {
	return func(text string) ([]string, error) {
		asked := strings.Split(text, ",")
		for _, one := range asked {
			if !slices.Contains(allowed, one) {
				return nil, fmt.Errorf("%q, allowed: %s, or several with commas", one, strings.Join(allowed, ", "))
			}
		}
		return slices.DeleteFunc(slices.Clone(allowed), func(one string) bool { return !slices.Contains(asked, one) }), nil
	}
}

func path(text string) (string, error) {
	if text == "" {
		return "", errors.New("allowed: a name")
	}
	return text, nil
}

// commandLine returns the command line that repeats a command, without a password.
func commandLine(cmd *cobra.Command) string {
	text := "bench"
	if cmd.Name() != text {
		text += " " + cmd.Name()
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		text += " --" + f.Name
		if value := f.Value.String(); f.Value.Type() != "bool" {
			text += " " + value
		} else if value != "true" {
			text += "=" + value
		}
	})
	return text
}

// An output is the way in which a command shows its result.
type output struct {
	cmd  *cobra.Command
	json bool // instead of tables
}

// A result is printed as tables, and its fields as JSON.
type result interface{ print(p *report.Page) }

// measures makes cmd a command that measures and then shows the result.
func measures[R result](o *output, cmd *cobra.Command, measure func(context.Context, *report.Progress) (R, error)) {
	o.cmd = cmd
	cmd.Args = noArgs
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON instead of tables")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		w := cmd.OutOrStdout()
		r, err := measure(cmd.Context(), report.NewProgress(w, o.json))
		if err != nil {
			return err
		}
		return show(w, o.json, r)
	}
}

func (o *output) facts() report.Facts { return report.NewFacts(commandLine(o.cmd)) }

func show(w io.Writer, asJSON bool, r result) error {
	if asJSON {
		return report.WriteJSON(w, r)
	}
	p := report.NewPage(w)
	r.print(p)
	return p.Flush()
}
