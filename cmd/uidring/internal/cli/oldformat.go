package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/uidring/uidring/cmd/uidring/internal/migrate"
)

// An oldFormat holds the flags old and old-epoch.
type oldFormat struct {
	name  string
	epoch timeFlag
}

// addTo adds the flags to a command.
func (f *oldFormat) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.name, "old", "", "`format` of the existing IDs: "+strings.Join(migrate.FormatNames(), ", ")+", or a layout; required")
	cmd.Flags().Var(&f.epoch, "old-epoch", "time where delta of the existing IDs is 0 (default: of the format)")
	_ = cmd.MarkFlagRequired("old")
}

// get returns the format with the epoch of the flag, if it is set.
func (f *oldFormat) get() (migrate.Format, error) {
	format, err := migrate.ParseFormat(f.name)
	if err != nil {
		return format, usagef("--old %q, %w", f.name, err)
	}
	if !f.epoch.IsZero() {
		format.Epoch = f.epoch.Time
	}
	return format, nil
}
