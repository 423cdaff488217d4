package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/cmd/uidring/internal/storeurl"
)

func newMigratePin(s *streams) *cobra.Command {
	var store storeFlags
	var old oldFormat
	cmd := &cobra.Command{
		Use:   "pin --old FORMAT",
		Short: "Store the layout and the epoch of the Java services of WORKER_NODE",
		Long: "pin stores the layout and the epoch of the Java services that take worker IDs from WORKER_NODE, in the table WORKER_NODE_PIN,\n" +
			"which uidring schema mysql nodes --apply creates. Go processes with other ones can then take no worker IDs from WORKER_NODE, and leases\n" +
			"with another number of bits below the delta may have all worker IDs. pin changes nothing that is stored.",
		Example: "  uidring migrate pin --old baidu --store mysql://ids:secret@db/shop\n" +
			"  uidring migrate pin --old 29/0/21/13 \\\n    --old-epoch 2016-09-20T00:00:00+08:00 --store mysql://ids:secret@db/shop",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			java, err := old.get()
			if err != nil {
				return err
			}
			if !java.Continues() || java.Name != "baidu" && old.epoch.IsZero() {
				return usagef("--old %q --old-epoch %q, allowed: baidu, or the layout and the epoch of the Java services", java.Name, &old.epoch)
			}
			return store.with(cmd.Context(), func(ctx context.Context, st *storeurl.Store) error {
				if st.DB() == nil {
					return usagef("--store %s, allowed: the URL of an SQL database, sqlite:, mysql: or postgres:", st)
				}
				if err := sqlassigner.Pin(ctx, st.DB(), sqlassigner.Config{}, java.Layout, java.Epoch); err != nil {
					return fmt.Errorf("%s: %w", st, err)
				}
				return write(s.out, "%s: WORKER_NODE has layout %s since %s\n", st, java.Layout, rfc3339(java.Epoch))
			})
		},
	}
	store.addSQLTo(cmd)
	old.addTo(cmd)
	return cmd
}
