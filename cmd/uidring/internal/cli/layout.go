package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/uidring/uidring/bitsalloc"
)

// idFormat holds the flags layout and epoch.
type idFormat struct {
	layout layoutFlag
	epoch  timeFlag
}

// addTo adds the flags to a command.
func (f *idFormat) addTo(cmd *cobra.Command) {
	f.layout.Layout = bitsalloc.Default()
	f.epoch.Time = bitsalloc.DefaultEpoch()
	cmd.Flags().Var(&f.layout, "layout", presetNames()+", or the widths of delta/datacenter/worker/sequence\n"+
		"and the unit of delta, such as 28/5/17/13@1s")
	cmd.Flags().Var(&f.epoch, "epoch", "time where delta is 0: a date, RFC 3339, or milliseconds since 1970")
	addSettings(cmd.Flags(), "layout", "epoch")
	_ = cmd.RegisterFlagCompletionFunc("layout", cobra.FixedCompletions(bitsalloc.PresetNames(), cobra.ShellCompDirectiveNoFileComp))
}

// allocator checks layout and epoch.
func (f *idFormat) allocator() (*bitsalloc.Allocator, error) {
	a, err := bitsalloc.New(f.layout.Layout, f.epoch.Time)
	if err != nil {
		return nil, usageError{err}
	}
	return a, nil
}

// presetLeased is the preset for leased worker IDs, which plan prefers.
const presetLeased = "leased"

// presetNames lists the names that --layout accepts.
func presetNames() string { return strings.Join(bitsalloc.PresetNames(), ", ") }

// A layoutFlag is the value of a flag: the name of a preset, or widths and unit.
type layoutFlag struct{ bitsalloc.Layout }

func (f *layoutFlag) Type() string { return "layout" }

func (f *layoutFlag) Set(text string) error {
	l, err := bitsalloc.ParseLayout(text)
	if err == nil {
		_, err = bitsalloc.New(l, time.Time{})
	}
	if err == nil {
		f.Layout = l
	}
	return err
}

// smallestMilli, in 1973, is the smallest number that a timeFlag reads as milliseconds: a smaller
// one may be a year, or seconds since 1970.
const smallestMilli = 100_000_000_000

// A timeFlag is the value of a flag: an instant.
type timeFlag struct{ time.Time }

func (f *timeFlag) Type() string { return "time" }

// String returns the time in the form that Set reads, or "" for the zero time.
func (f *timeFlag) String() string {
	if f.IsZero() {
		return ""
	}
	return f.UTC().Format(time.RFC3339Nano)
}

func (f *timeFlag) Set(text string) error {
	forms := [...]string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly}
	for _, form := range forms {
		if t, err := time.Parse(form, text); err == nil {
			f.Time = t.UTC()
			return nil
		}
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err == nil && ms < smallestMilli && ms > -smallestMilli:
		return errors.New("ambiguous: milliseconds since 1970 have 12 digits or more, allowed: 2026-01-01, or 1767225600000")
	case err == nil:
		f.Time = time.UnixMilli(ms).UTC()
		return nil
	}
	return errors.New("allowed: milliseconds since 1970, 2026-11-21, 2026-11-21T15:04:05 (both UTC), or with a zone as in 2026-11-21T15:04:05+01:00")
}

// A choice is the value of a flag with a fixed list of values.
type choice struct {
	value   string
	allowed []string
}

func (c *choice) String() string { return c.value }

func (c *choice) Type() string { return "string" }

func (c *choice) Set(text string) error {
	if !slices.Contains(c.allowed, text) {
		return fmt.Errorf("allowed: %s", strings.Join(c.allowed, ", "))
	}
	c.value = text
	return nil
}
