package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/uidring/uidring/cmd/uidring/internal/migrate"
)

// A formatFlag is the value of the flag old.
type formatFlag struct{ migrate.Format }

func (f *formatFlag) Type() string { return "format" }

func (f *formatFlag) String() string { return f.Name }

func (f *formatFlag) Set(text string) (err error) {
	f.Format, err = migrate.ParseFormat(text)
	return err
}

// An oldFormat holds the flags old and old-epoch.
type oldFormat struct {
	formatFlag
	epoch timeFlag
}

// addTo adds the flags to a command.
func (f *oldFormat) addTo(cmd *cobra.Command) {
	names := migrate.FormatNames()
	cmd.Flags().Var(&f.formatFlag, "old", "format of the existing IDs: "+strings.Join(names, ", ")+", or a layout; required")
	cmd.Flags().Var(&f.epoch, "old-epoch", "time where delta of the existing IDs is 0 (default: of the format)")
	_ = cmd.RegisterFlagCompletionFunc("old", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

// get returns the format with the epoch of the flag, if it is set.
func (f *oldFormat) get() migrate.Format {
	format := f.Format
	if !f.epoch.IsZero() {
		format.Epoch = f.epoch.Time
	}
	return format
}
