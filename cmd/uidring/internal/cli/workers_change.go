package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/cmd/uidring/internal/storeurl"
)

func newWorkersRevoke(s *streams) *cobra.Command {
	var flags storeFlags
	yes := false
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "Take a worker ID from its holder",
		Long: "Takes a worker ID from its holder. The holder learns it at its next renewal and takes another worker ID. The fence\n" +
			"stays, so no ID is issued twice even if the holder is alive. The worker ID is free for others once its lease would\n" +
			"have expired. Do not revoke the worker ID of a holder that is gone: its lease expires by itself.\n\n" +
			"revoke asks before it acts. Without a terminal, --yes is required.",
		Example: "  uidring workers revoke 7 --store sqlite:///var/lib/uidring/ids.db --namespace orders\n" +
			"  uidring workers revoke 7 --yes",
		Args: exactly(1, "a worker ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := workerID(args[0])
			if err != nil {
				return err
			}
			return flags.read(cmd.Context(), &id, func(c *session) error { return c.revoke(s, yes) })
		},
	}
	flags.addTo(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

func newWorkersRecover(s *streams) *cobra.Command {
	var flags storeFlags
	var ahead time.Duration
	yes := false
	cmd := &cobra.Command{
		Use:   "recover --ahead DURATION",
		Short: "Make a namespace usable again after a restore",
		Long: "After a restore from a backup, or a failover that lost commits, the fences in the store are too low. recover raises\n" +
			"every fence by --ahead, or to --ahead above the present time if that is later, and takes all worker IDs from their\n" +
			"holders.\n\n" +
			"Keep the network between generators and the store closed from the restore to the end of recover: no generator may\n" +
			"take a worker ID in between. --ahead has to be larger than the lead of any generator over the clock, including its\n" +
			"window: 1h is plenty for generators at the pace of the clock. New IDs are then up to --ahead ahead of the clock.\n\n" +
			"recover asks before it acts. Without a terminal, --yes is required.",
		Example: "  uidring workers recover --ahead 1h --store mysql://ids@db/ids --namespace orders\n" +
			"  uidring workers recover --ahead 1h --yes",
		Args: exactly(0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case !cmd.Flags().Changed("ahead"):
				return usagef("--ahead is missing, allowed: a duration to raise the fences by, such as 1h; it has no default")
			case ahead < 0:
				return usagef("--ahead %v, allowed: 0 or more, such as 1h", ahead)
			}
			return flags.read(cmd.Context(), nil, func(c *session) error { return c.recover(s, ahead, yes) })
		},
	}
	flags.addTo(cmd)
	flags.timeout, cmd.Flags().Lookup("timeout").DefValue = 5*time.Minute, "5m0s" // recover writes each row separately
	cmd.Flags().DurationVar(&ahead, "ahead", 0, "duration to raise the fences by")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// A session is an open store with the rows that were read from it.
type session struct {
	ctx   context.Context
	flags *storeFlags
	store *storeurl.Store
	seen  *view // the rows that confirm shows
}

// read opens the store and reads all rows, or only the row of id, before it calls do. The timeout
// applies to each step, so an answer on the terminal may take any time.
func (f *storeFlags) read(ctx context.Context, id *int64, do func(*session) error) error {
	st, err := f.open()
	if err != nil {
		return err
	}
	defer st.Close()
	c := &session{ctx: ctx, flags: f, store: st}
	err = f.within(ctx, func(ctx context.Context) error {
		c.seen, err = f.look(ctx, st, id)
		return err
	})
	if err != nil {
		return err
	}
	return do(c)
}

func (c *session) revoke(s *streams, yes bool) error {
	row := c.seen.rows[0]
	if row.Free() || row.Revoked() {
		return write(s.out, "worker ID %d is %s already: nothing to do\n", row.WorkerID, c.seen.state(row))
	}
	if !yes {
		question := fmt.Sprintf("Take worker ID %d of namespace %q from %q, which will have to take another one?",
			row.WorkerID, c.seen.namespace, row.Owner)
		if err := s.confirm(question, func() error { return c.seen.printRow(s, row) }); err != nil {
			return err
		}
	}
	return c.flags.within(c.ctx, func(ctx context.Context) error {
		found, err := c.store.Load(ctx, row.WorkerID)
		if err != nil {
			return err
		}
		if found.Version != row.Version {
			return fmt.Errorf("worker ID %d has changed since it was shown, its holder is %q now; nothing was changed", row.WorkerID, found.Owner)
		}
		revoked, err := leasestore.Revoke(ctx, c.store, row.WorkerID)
		if err != nil {
			return err
		}
		return write(s.out, "worker ID %d was taken from %q; others may take it from %s on\n",
			row.WorkerID, row.Owner, revoked.Expires.UTC().Format(time.RFC3339))
	})
}

func (c *session) recover(s *streams, ahead time.Duration, yes bool) error {
	held := 0
	for _, row := range c.seen.rows {
		if c.seen.state(row) == "held" {
			held++
		}
	}
	if !yes {
		question := fmt.Sprintf("Raise the fences of all %d worker IDs of namespace %q by %v, even if they were raised before, "+
			"and take %d of the worker IDs from their holders?", len(c.seen.rows), c.seen.namespace, ahead, held)
		if err := s.confirm(question, func() error { return c.seen.printStore(s) }); err != nil {
			return err
		}
	}
	return c.flags.within(c.ctx, func(ctx context.Context) error {
		if err := leasestore.Recover(ctx, c.store, ahead); err != nil {
			return err
		}
		return write(s.out, "%d fences of namespace %q raised by %v\n", len(c.seen.rows), c.seen.namespace, ahead)
	})
}
