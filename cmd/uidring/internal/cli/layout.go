package cli

import (
	"errors"
	"fmt"
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
		"and the unit of delta, such as 28/5/17/13@1s (UIDRING_LAYOUT)")
	cmd.Flags().Var(&f.epoch, "epoch", "time where delta is 0: a date or RFC 3339 (UIDRING_EPOCH)")
	orEnvironment(cmd, "layout")
	orEnvironment(cmd, "epoch")
	_ = cmd.RegisterFlagCompletionFunc("layout", cobra.FixedCompletions(strings.Split(presetNames(), ", "), cobra.ShellCompDirectiveNoFileComp))
}

// allocator checks layout and epoch.
func (f *idFormat) allocator() (*bitsalloc.Allocator, error) {
	a, err := bitsalloc.New(f.layout.Layout, f.epoch.Time)
	if err != nil {
		return nil, usageError{err}
	}
	return a, nil
}

// A preset is a layout with a name.
type preset struct {
	name   string
	layout bitsalloc.Layout
}

func presets() []preset {
	return []preset{
		{"default", bitsalloc.Default()}, {presetLeased, bitsalloc.Leased()}, {"baidu", bitsalloc.Baidu()}, {"snowflake", bitsalloc.Snowflake()},
		{"javascript", bitsalloc.JavaScript()},
	}
}

// presetLeased is the preset for leased worker IDs, which plan prefers.
const presetLeased = "leased"

// presetNames lists the names that --layout accepts.
func presetNames() string {
	var names []string
	for _, p := range presets() {
		names = append(names, p.name)
	}
	return strings.Join(names, ", ")
}

// A layoutFlag is the value of a flag: the name of a preset, or widths and unit.
type layoutFlag struct{ bitsalloc.Layout }

func (f *layoutFlag) Type() string { return "layout" }

// String returns the widths and unit, in the form that Set reads.
func (f *layoutFlag) String() string { return widths(f.Layout) }

func widths(l bitsalloc.Layout) string { return strings.Replace(l.String(), " ", "@", 1) }

func (f *layoutFlag) Set(text string) error {
	for _, p := range presets() {
		if strings.EqualFold(text, p.name) {
			f.Layout = p.layout
			return nil
		}
	}
	l, err := parseWidths(text)
	if err != nil {
		return errors.New("allowed: " + presetNames() + ", or widths such as 28/5/17/13 or 41/0/10/12@1ms")
	}
	if _, err := bitsalloc.New(l, time.Time{}); err != nil {
		return err
	}
	f.Layout = l
	return nil
}

func parseWidths(text string) (l bitsalloc.Layout, err error) {
	bits, unit, given := strings.Cut(text, "@")
	l.Unit = time.Second
	if given {
		if l.Unit, err = time.ParseDuration(unit); err != nil {
			return l, err
		}
	}
	parts := strings.Split(bits, "/")
	fields := [...]*uint8{&l.DeltaBits, &l.DatacenterBits, &l.WorkerBits, &l.SequenceBits}
	if len(parts) != len(fields) {
		return l, fmt.Errorf("%d widths", len(parts))
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 8)
		if err != nil {
			return l, err
		}
		*fields[i] = uint8(n)
	}
	return l, nil
}

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
	return errors.New("allowed: 2026-11-21, 2026-11-21T15:04:05 (both UTC), or with a zone as in 2026-11-21T15:04:05+01:00")
}
