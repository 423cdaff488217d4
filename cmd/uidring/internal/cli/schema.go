package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uidring/uidring/cmd/uidring/internal/storeurl"
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
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: []cobra.Completion{"mysql", "postgres", "sqlite"},
		RunE: func(cmd *cobra.Command, args []string) error {
			files, ok := map[string]func() []schema.File{"mysql": schema.MySQL, "postgres": schema.PostgreSQL, "sqlite": schema.SQLite}[strings.Join(args, "")]
			switch {
			case !ok:
				return usagef("which database? %q, allowed: mysql, postgres, sqlite", args)
			case apply:
				return flags.with(cmd.Context(), func(ctx context.Context, st *storeurl.Store) error {
					if err := st.Create(ctx); err != nil {
						return err
					}
					return write(s.out, "%s has all tables\n", st)
				})
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
