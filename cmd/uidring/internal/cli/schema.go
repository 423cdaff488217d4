package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uidring/uidring/schema"
)

func newSchema(s *streams) *cobra.Command {
	var flags storeFlags
	apply := false
	cmd := &cobra.Command{
		Use:   "schema {mysql | postgres | sqlite}",
		Short: "Print the tables of a database, or create them",
		Long: "Prints the SQL of the tables that worker IDs are kept in, for the client of the database. With --apply it creates\n" +
			"those that are missing in the database of --store, and changes nothing that is there.",
		Example: "  uidring schema mysql | mysql ids\n" +
			"  uidring schema postgres > tables.sql\n" +
			"  UIDRING_STORE=mysql://ids:secret@db/ids uidring schema mysql --apply",
		Args:      exactly(1, "mysql, postgres or sqlite"),
		ValidArgs: []cobra.Completion{"mysql", "postgres", "sqlite"},
		RunE: func(cmd *cobra.Command, args []string) error {
			files, ok := map[string]func() []schema.File{"mysql": schema.MySQL, "postgres": schema.PostgreSQL, "sqlite": schema.SQLite}[args[0]]
			switch {
			case !ok:
				return usagef("schema %q, allowed: mysql, postgres, sqlite", args[0])
			case apply:
				return applySchema(cmd.Context(), s, &flags, args[0])
			case cmd.Flags().Changed("store"):
				return usagef("--store without --apply, allowed: together")
			}
			for _, file := range files() {
				if _, err := fmt.Fprintf(s.out, "-- %s\n%s\n", file.Name, strings.TrimRight(file.SQL, "\n")); err != nil {
					return fmt.Errorf("write: %w", err)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&apply, "apply", false, "create the tables that are missing")
	flags.addTo(cmd)
	_ = cmd.Flags().MarkHidden("namespace") // tables are those of all namespaces
	return cmd
}

func applySchema(ctx context.Context, s *streams, flags *storeFlags, database string) error {
	if flags.url != "" && !strings.HasPrefix(flags.url, database) { // postgresql:, too
		return usagef("schema %s with a --store of something else, allowed: a URL that begins with %s:", database, database)
	}
	st, err := flags.open()
	if err != nil {
		return err
	}
	defer st.Close()
	if err := flags.within(ctx, st.Create); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s has all tables\n", st)
	return err
}
