package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/uidring/uidring/cmd/uidring/internal/migrate"
)

func newMigrate(s *streams) *cobra.Command {
	return group(&cobra.Command{
		Use:     "migrate",
		Short:   "Examine the IDs of another generator before a change to this one",
		Long:    "The migrate commands help to replace another generator of IDs: see docs/MIGRATION.md.",
		Example: "  mysql --quick -N shop -e 'SELECT id FROM orders' |\n    uidring migrate check --old baidu --layout recommended -",
	}, newMigrateCheck(s), newMigratePin(s))
}

func newMigrateCheck(s *streams) *cobra.Command {
	m := migration{s: s}
	cmd := &cobra.Command{
		Use:   "check {ID... | -}",
		Short: "Tell whether new IDs will be above the existing ones",
		Long: "check reads IDs given as arguments, or with - one decimal ID per line of standard input, as a query prints them. It reports\n" +
			"whether the IDs of new generators with --layout and --epoch will be above them, which worker IDs made the old IDs, and\n" +
			"whether an ID exists twice. It keeps 8 bytes for each ID in memory. Write -- before negative arguments.\n\n" +
			"The verdict needs the smallest and the largest ID only, and the same of the negative ones.\n\n" +
			"The exit code is 0 if the new IDs will be above the old ones, 4 if not, and 1 if there is no verdict.",
		Example: "  mysql --quick -N shop -e 'SELECT id FROM orders' |\n    uidring migrate check --old baidu --layout recommended -\n" +
			"  psql -At -c 'SELECT id FROM orders' | uidring migrate check \\\n    --old bwmarrin --layout snowflake --epoch 1288834974657 -\n" +
			"  uidring migrate check --old 29/0/21/13 \\\n    --old-epoch 2016-09-19T16:00:00Z 1120725984225394689",
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return m.run(args) },
	}
	m.old.addTo(cmd)
	cmd.Flags().Var(&m.start, "start", "time when the new generators start (default now)")
	m.format.addTo(cmd)
	s.addJSON(cmd)
	return cmd
}

// A migration is one call of uidring migrate check.
type migration struct {
	s      *streams
	old    oldFormat
	format idFormat
	start  timeFlag
}

// run fails with errNotAbove after a report whose new IDs are not above the old ones.
func (m *migration) run(args []string) error {
	old, err := m.old.get()
	if err != nil {
		return err
	}
	alloc, err := m.format.allocator()
	if err != nil {
		return err
	}
	if m.start.IsZero() {
		m.start.Time = time.Now().UTC().Truncate(time.Second)
	}
	ids, origin, err := m.read(args)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return errors.New("no IDs: every layout is above them")
	}
	report, err := migrate.Examine(ids, old, alloc, m.start.Time)
	if err != nil {
		return usageError{err}
	}
	sheet := &migrationSheet{origin, old, migrate.Format{Layout: alloc.Layout(), Epoch: alloc.Epoch()}, m.start.Time, report}
	if err = m.s.print(sheet, sheet.print); err == nil && report.New.Relation != migrate.Above {
		return errNotAbove
	}
	return err
}

// read returns the IDs, and their origin for people. It skips NULL and blank lines, which psql
// prints for NULL: the verdict is about a set of IDs, not about rows.
func (m *migration) read(args []string) (ids []int64, origin string, err error) {
	if len(args) == 1 && args[0] == "-" {
		err = m.s.eachLine(func(number int, line string) error {
			if line == "" || line == "NULL" {
				return nil
			}
			id, err := decimalID(line)
			if err != nil {
				return fmt.Errorf("line %d: %w, one per line without a header", number, err)
			}
			ids = append(ids, id)
			return nil
		})
		return ids, "all IDs of standard input", err
	}
	for i, arg := range args {
		if arg == "-" {
			return nil, "", usagef("argument %d: \"-\" beside others, allowed: - alone, or IDs", i+1)
		}
		id, err := decimalID(arg)
		if err != nil {
			return nil, "", usagef("argument %d: %w", i+1, err)
		}
		ids = append(ids, id)
	}
	return ids, "all arguments", nil
}

func decimalID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q, allowed: decimal IDs from -2^63 to 2^63 - 1", text)
	}
	return id, nil
}

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
