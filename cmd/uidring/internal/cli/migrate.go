package cli

import (
	"context"
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
		Example: "  uidring migrate check --old baidu --table orders --store mysql://ids:secret@db/shop --layout recommended",
	}, newMigrateCheck(s), newMigratePin(s))
}

func newMigrateCheck(s *streams) *cobra.Command {
	m := migration{s: s}
	cmd := &cobra.Command{
		Use:   "check {--table NAME... | ID... | -}",
		Short: "Tell whether new IDs will be above the existing ones",
		Long: "check reads the smallest and the largest IDs of a table, or IDs given as arguments, or with - one decimal ID per line\n" +
			"of standard input. It reports whether the IDs of new generators with --layout and --epoch will be above them, which worker\n" +
			"IDs made the old IDs, and whether an ID exists twice. check writes nothing. Write -- before negative arguments.\n\n" +
			"Only --all, - and arguments show every worker and every repeated ID. They keep 8 bytes for each ID in memory.\n\n" +
			"The exit code is 0 if the new IDs will be above the old ones, 4 if not, and 1 if there is no verdict.",
		Example: "  uidring migrate check --old baidu --table orders --store mysql://ids:secret@db/shop --layout recommended\n" +
			"  mysql -N -e 'SELECT id FROM orders' | uidring migrate check --old bwmarrin --layout snowflake --epoch 1288834974657 -\n" +
			"  uidring migrate check --old 29/0/21/13 --old-epoch 2016-09-19T16:00:00Z 1120725984225394689",
		RunE: func(cmd *cobra.Command, args []string) error { return m.run(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	m.store.addTo(cmd)
	_ = flags.MarkHidden("namespace") // a table of IDs has none
	flags.Lookup("store").Usage = "`URL` of the database of --table, sqlite:, mysql: or postgres: (UIDRING_STORE)"
	m.store.timeout, flags.Lookup("timeout").DefValue = time.Minute, "1m0s" // a column without an index takes long
	flags.Lookup("timeout").Usage = "time limit for each table"
	flags.StringArrayVar(&m.tables, "table", nil, "`name` of a table, exact, or schema.table; may be repeated, as for shards")
	flags.StringVar(&m.column, "column", "id", "`name` of the column of the IDs, exact")
	flags.IntVar(&m.count, "count", 1000, "number of smallest IDs, and of largest IDs, to read of a table")
	flags.BoolVar(&m.all, "all", false, "read all IDs of the tables")
	m.old.addTo(cmd)
	flags.Var(&m.start, "start", "time when the new generators start (default now)")
	m.format.addTo(cmd)
	s.addJSON(cmd)
	return cmd
}

// A migration is one call of uidring migrate check.
type migration struct {
	s      *streams
	store  storeFlags
	tables []string
	column string
	count  int
	all    bool
	old    oldFormat
	format idFormat
	start  timeFlag
}

// run fails with errNotAbove after a report whose new IDs are not above the old ones.
func (m *migration) run(ctx context.Context, args []string) error {
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
	ids, origin, err := m.read(ctx, args)
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
	sheet := &migrationSheet{report, old, alloc, m.start.Time, origin}
	if err = m.s.print(sheet.json(), sheet.print); err == nil && report.New.Relation != migrate.Above {
		return errNotAbove
	}
	return err
}

// read returns the IDs, and their origin for people.
func (m *migration) read(ctx context.Context, args []string) (ids []int64, origin string, err error) {
	switch {
	case (len(m.tables) > 0) == (len(args) > 0):
		return nil, "", usagef("%d tables and %d arguments, allowed: --table, or IDs, or - for standard input", len(m.tables), len(args))
	case m.count < 1:
		return nil, "", usagef("--count %d, allowed: 1 or more", m.count)
	case len(m.tables) > 0:
		return m.readTables(ctx)
	case len(args) == 1 && args[0] == "-":
		ids, err = m.readLines()
		return ids, "all IDs of standard input", err
	}
	for i, arg := range args {
		id, err := decimalID(arg)
		if err != nil {
			return nil, "", usagef("argument %d: %w", i+1, err)
		}
		ids = append(ids, id)
	}
	return ids, "all arguments", nil
}

func (m *migration) readTables(ctx context.Context) (ids []int64, origin string, err error) {
	st, err := m.store.open()
	if err != nil {
		return nil, "", err
	}
	defer st.Close()
	db, err := sqlHandle(st)
	if err != nil {
		return nil, "", err
	}
	complete := true
	for _, table := range m.tables {
		err := m.store.within(ctx, func(ctx context.Context) error {
			column := migrate.Column{Table: table, Column: m.column}
			if m.all {
				all, err := migrate.ReadAll(ctx, db, column)
				ids = append(ids, all...)
				return err
			}
			ends, all, err := migrate.ReadEnds(ctx, db, column, m.count)
			ids = append(ids, ends...)
			complete = complete && all
			return err
		})
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", st, err)
		}
	}
	origin = fmt.Sprintf("all IDs of %s", strings.Join(m.tables, ", "))
	if !complete {
		origin = fmt.Sprintf("the %d smallest and largest IDs of %s", m.count, strings.Join(m.tables, ", "))
	}
	return ids, origin, nil
}

// readLines reads decimal IDs from standard input. It skips blank lines and NULL.
func (m *migration) readLines() (ids []int64, err error) {
	err = m.s.eachLine(func(number int, line string) error {
		if line == "NULL" {
			return nil
		}
		id, err := decimalID(line)
		if err != nil {
			return fmt.Errorf("line %d: %w, one per line without a header", number, err)
		}
		ids = append(ids, id)
		return nil
	})
	return ids, err
}

func decimalID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q, allowed: decimal IDs from -2^63 to 2^63 - 1", text)
	}
	return id, nil
}
