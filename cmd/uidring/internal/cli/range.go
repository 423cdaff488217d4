package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/bitsalloc"
)

func newRange(s *streams) *cobra.Command {
	var format idFormat
	var from, to timeFlag
	cmd := &cobra.Command{
		Use:   "range --from TIME --to TIME",
		Short: "Print the smallest and the largest ID of a span of time",
		Long: "range prints the smallest and the largest ID of a span of time, for WHERE id BETWEEN smallest AND largest. The span includes\n" +
			"--from and excludes --to. If the span begins or ends within a unit of ID time, the range has all IDs of that unit.\n\n" +
			"The time in an ID may differ from the time of its issue: widen the span by MaxStaleness and MaxAhead of the generator.",
		Example: "  uidring range --from 2026-11-21 --to 2026-11-22\n" +
			"  uidring range --from 2026-11-21T15:00:00+01:00 --to 2026-11-21T16:00:00+01:00 --json",
		Args: exactly(0, "none"),
		RunE: func(*cobra.Command, []string) error {
			alloc, err := format.allocator()
			if err != nil {
				return err
			}
			if err := checkSpan(from.Time, to.Time); err != nil {
				return usageError{err}
			}
			return printRange(s, alloc, from.Time, to.Time)
		},
	}
	cmd.Flags().Var(&from, "from", "beginning of the span, a date or RFC 3339")
	cmd.Flags().Var(&to, "to", "end of the span, a date or RFC 3339")
	format.addTo(cmd)
	s.addJSON(cmd)
	return cmd
}

func checkSpan(from, to time.Time) error {
	var errs []error
	if from.IsZero() {
		errs = append(errs, errors.New("--from is missing, allowed: the beginning of the span, such as 2026-11-21"))
	}
	if to.IsZero() {
		errs = append(errs, errors.New("--to is missing, allowed: the end of the span, such as 2026-11-22"))
	}
	if errs == nil && !from.Before(to) {
		errs = append(errs, fmt.Errorf("--to %s, allowed: later than --from %s", rfc3339(to), rfc3339(from)))
	}
	return errors.Join(errs...)
}

func rfc3339(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func printRange(s *streams, alloc *bitsalloc.Allocator, from, to time.Time) error {
	first, last := alloc.Range(from, to)
	if first > last {
		return fmt.Errorf("no IDs from %s to %s: layout %s has IDs from %s to %s",
			rfc3339(from), rfc3339(to), alloc.Layout().String(), rfc3339(alloc.Epoch()), rfc3339(alloc.Expires()))
	}
	smallest, largest := uidring.ID(first), uidring.ID(last)
	t := s.table("FORM", "SMALLEST", "LARGEST")
	t.row("decimal", smallest.String(), largest.String())
	t.row("base32", smallest.Base32(), largest.Base32())
	t.row("base62", smallest.Base62(), largest.Base62())
	return s.print(struct {
		First uidring.ID `json:"first"`
		Last  uidring.ID `json:"last"`
		From  time.Time  `json:"from"`
		To    time.Time  `json:"to"`
	}{smallest, largest, from, to}, t.print)
}
