package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uidring/uidring/schema"
)

func newSchema(s *streams) *cobra.Command {
	var flags storeFlags
	apply := false
	cmd := &cobra.Command{
		Use:   "schema {mysql | postgres | sqlite}",
		Short: "Print the SQL of the tables, or create them",
		Long: "schema prints the SQL of the tables that hold worker IDs, for the database's command-line client. With --apply it\n" +
			"creates the missing tables in the database of --store, and leaves existing tables alone.",
		Example: "  uidring schema mysql | mysql ids\n" +
			"  uidring schema postgres > tables.sql\n" +
			"  UIDRING_STORE=mysql://ids:secret@db/ids uidring schema mysql --apply",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("which database? allowed: mysql, postgres, sqlite; see %s --help", cmd.CommandPath())
			}
			return exactly(1, "mysql, postgres or sqlite")(cmd, args)
		},
		ValidArgs: []cobra.Completion{"mysql", "postgres", "sqlite"},
		RunE: func(cmd *cobra.Command, args []string) error {
			files, ok := map[string]func() []schema.File{"mysql": schema.MySQL, "postgres": schema.PostgreSQL, "sqlite": schema.SQLite}[args[0]]
			switch {
			case !ok:
				return usagef("schema %q, allowed: mysql, postgres, sqlite", args[0])
			case apply:
				return applySchema(cmd.Context(), s, &flags, args[0])
			case cmd.Flags().Changed("store"):
				return usagef("--store without --apply, allowed: with --apply only")
			}
			for _, file := range files() {
				if err := write(s.out, "-- %s\n%s\n", file.Name, strings.TrimRight(file.SQL, "\n")); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&apply, "apply", false, "create missing tables")
	flags.addTo(cmd)
	_ = cmd.Flags().MarkHidden("namespace") // all namespaces share the tables
	return cmd
}

func applySchema(ctx context.Context, s *streams, flags *storeFlags, database string) error {
	if flags.url != "" && !strings.HasPrefix(flags.url, database) { // postgresql:, too
		return usagef("schema %s with --store of another database, allowed: a URL that begins with %s:", database, database)
	}
	st, err := flags.open()
	if err != nil {
		return err
	}
	defer st.Close()
	if err := flags.within(ctx, st.Create); err != nil {
		return err
	}
	return write(s.out, "%s has all tables\n", st)
}
