package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uidring/uidring/cmd/uidring/internal/storeurl"
	"github.com/uidring/uidring/schema"
)

func newSchema(s *streams) *cobra.Command {
	var flags storeFlags
	var format idFormat
	var apply, functions bool
	cmd := &cobra.Command{
		Use:   "schema {mysql | postgres | sqlite} [leases] [nodes] [segments]",
		Short: "Print or create the tables; print SQL functions of IDs",
		Long: "schema prints the SQL of the tables that hold worker IDs, for the database's command-line client. With --apply it\n" +
			"creates the missing tables in the database of --store, and leaves existing tables alone.\n\n" +
			"leases (the default) are the tables of leased worker IDs; nodes are WORKER_NODE, which Java services share, and its\n" +
			"siblings; segments is the table of counters.\n\n" +
			"With --functions schema prints functions of IDs with --layout and --epoch instead: uidring_time(id), uidring_at(timestamp),\n" +
			"the smallest ID of that unit of time, uidring_worker(id), uidring_datacenter(id) and uidring_sequence(id).",
		Example: "  uidring schema mysql | mysql ids\n" +
			"  uidring schema postgres leases segments > tables.sql\n" +
			"  UIDRING_STORE=mysql://ids:secret@db/ids uidring schema mysql nodes --apply\n" +
			"  uidring schema mysql --functions --layout default | mysql ids",
		ValidArgs: []cobra.Completion{"mysql", "postgres", "sqlite", "leases", "nodes", "segments"},
		RunE: func(cmd *cobra.Command, args []string) error {
			database, groups, err := schemaArgs(args)
			switch {
			case err != nil:
				return err
			case functions && (apply || groups != nil):
				return usagef("--functions with tables, allowed: one of both")
			case functions:
				alloc, err := format.allocator()
				if err != nil {
					return err
				}
				return printFunctions(s.out, args[0], alloc)
			case apply:
				return flags.with(cmd.Context(), func(ctx context.Context, st *storeurl.Store) error {
					if !strings.HasPrefix(st.String(), args[0]) { // postgresql: begins with postgres, too
						return usagef("%s with --store %s, allowed: a database of the same kind", args[0], st)
					}
					made, err := st.Create(ctx, groups...)
					if err != nil {
						return err
					}
					return write(s.out, "%s: created %s\n", st, cmp.Or(strings.Join(made, ", "), "no table, since none is missing"))
				})
			}
			for _, file := range database(groups...) {
				if err := write(s.out, "-- %s\n%s\n", file.Name, strings.TrimRight(file.SQL, "\n")); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&apply, "apply", false, "create missing tables")
	cmd.Flags().BoolVar(&functions, "functions", false, "print functions of IDs")
	format.addTo(cmd)
	flags.addSQLTo(cmd)
	return cmd
}

// schemaArgs returns the files of a database, and the groups of tables.
func schemaArgs(args []string) (files func(...schema.Group) []schema.File, groups []schema.Group, err error) {
	databases := map[string]func(...schema.Group) []schema.File{"mysql": schema.MySQL, "postgres": schema.PostgreSQL, "sqlite": schema.SQLite}
	if len(args) == 0 {
		return nil, nil, usagef("name the database: mysql, postgres or sqlite")
	}
	files = databases[args[0]]
	if files == nil {
		return nil, nil, usagef("unknown database %q, allowed: mysql, postgres, sqlite", args[0])
	}
	for _, arg := range args[1:] {
		group := schema.Group(arg)
		if !slices.Contains(schema.Groups(), group) {
			return nil, nil, usagef("which tables? %q, allowed: leases, nodes, segments", arg)
		}
		groups = append(groups, group)
	}
	return files, groups, nil
}
