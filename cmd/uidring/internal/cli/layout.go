package cli

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/uidring/uidring/bitsalloc"
)

// idFormat holds the flags layout and epoch.
type idFormat struct {
	layout bitsalloc.Layout
	epoch  timeFlag
}

// addTo adds the flags to a command.
func (f *idFormat) addTo(cmd *cobra.Command) {
	f.epoch.Time = bitsalloc.DefaultEpoch()
	cmd.Flags().TextVar(&f.layout, "layout", bitsalloc.Recommended(), "`layout`: "+strings.Join(bitsalloc.PresetNames(), ", ")+", or the widths of\n"+
		"delta/datacenter/worker/sequence and the unit of delta, such as 28/5/17/13@1s (UIDRING_LAYOUT)")
	cmd.Flags().Var(&f.epoch, "epoch", "time where delta is 0: a date, RFC 3339, or milliseconds since 1970 (UIDRING_EPOCH)")
}

// allocator checks layout and epoch.
func (f *idFormat) allocator() (*bitsalloc.Allocator, error) {
	a, err := bitsalloc.New(f.layout, f.epoch.Time)
	if err != nil {
		return nil, usageError{err}
	}
	return a, nil
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
	return rfc3339(f.Time)
}

func (f *timeFlag) Set(text string) error {
	for _, form := range [...]string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
		if t, err := time.Parse(form, text); err == nil {
			return f.set(t)
		}
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return errors.New("allowed: milliseconds since 1970, 2026-11-21, 2026-11-21T15:04:05 (both UTC), or with a zone as in 2026-11-21T15:04:05+01:00")
	}
	if ms < smallestMilli && ms > -smallestMilli {
		return errors.New("ambiguous: milliseconds since 1970 have 12 digits or more, allowed: 2026-11-21, or 1795219200000")
	}
	return f.set(time.UnixMilli(ms))
}

func (f *timeFlag) set(t time.Time) error {
	if t.IsZero() { // which stands for no time
		return errors.New("the beginning of the year 1, allowed: another time")
	}
	f.Time = t.UTC()
	return nil
}
