package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/uidring/uidring"
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
			"  uidring range --json --from 2026-11-21T15:00:00+01:00 --to 2026-11-22",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return printRange(s, &format, from.Time, to.Time) },
	}
	cmd.Flags().Var(&from, "from", "beginning of the span, a date or RFC 3339; required")
	cmd.Flags().Var(&to, "to", "end of the span, a date or RFC 3339; required")
	_ = cmd.MarkFlagRequired("from")
	_ = cmd.MarkFlagRequired("to")
	format.addTo(cmd)
	s.addJSON(cmd)
	return cmd
}

func rfc3339(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func printRange(s *streams, format *idFormat, from, to time.Time) error {
	alloc, err := format.allocator()
	if err != nil {
		return err
	}
	if !from.Before(to) {
		return usagef("--to %s, allowed: later than --from %s", rfc3339(to), rfc3339(from))
	}
	first, last := alloc.Range(from, to)
	if first > last {
		return fmt.Errorf("no IDs from %s to %s: layout %s has IDs from %s to %s",
			rfc3339(from), rfc3339(to), alloc.Layout(), rfc3339(alloc.Epoch()), rfc3339(alloc.Expires()))
	}
	smallest, largest := uidring.ID(first), uidring.ID(last)
	value := struct {
		First uidring.ID `json:"first"`
		Last  uidring.ID `json:"last"`
		From  time.Time  `json:"from"`
		To    time.Time  `json:"to"`
	}{smallest, largest, from, to}
	return s.print(value, func(w io.Writer) {
		fmt.Fprintf(w, "FORM\tSMALLEST\tLARGEST\n")
		fmt.Fprintf(w, "decimal\t%s\t%s\n", smallest, largest)
		fmt.Fprintf(w, "base32\t%s\t%s\n", smallest.Base32(), largest.Base32())
		fmt.Fprintf(w, "base62\t%s\t%s\n", smallest.Base62(), largest.Base62())
	})
}
