package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/uidring/uidring/assigner/leasestore"
)

func newWorkersRevoke(s *streams) *cobra.Command {
	var flags storeFlags
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "Take a worker ID from its holder",
		Long: "revoke takes a worker ID from its holder, which learns it at its next renewal and takes another. The fence stays, so no ID is\n" +
			"issued twice even if the holder is alive. Others may take the worker ID once its lease would have expired. Do not revoke the\n" +
			"worker ID of a holder that is gone: its lease expires by itself. Without --yes it changes nothing.",
		Example: "  uidring workers revoke 7 --store sqlite:///srv/ids.db --namespace orders\n" +
			"  uidring workers revoke 7 --yes",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return usagef("worker ID %q, allowed: a number", args[0])
			}
			return flags.read(cmd.Context(), func(seen *listing) error {
				return flags.revoke(cmd.Context(), s, seen, id)
			})
		},
	}
	flags.addTo(cmd)
	s.addYes(cmd)
	return cmd
}

func newWorkersRecover(s *streams) *cobra.Command {
	var flags storeFlags
	var ahead time.Duration
	cmd := &cobra.Command{
		Use:   "recover --ahead DURATION",
		Short: "Make a namespace usable again after a restore",
		Long: "After a restore from a backup, or a failover that lost commits, the fences in the store are too low. recover raises\n" +
			"every fence by --ahead, or to --ahead above the present time if that is later, and takes all worker IDs from their\n" +
			"holders. Keep the network between generators and the store closed from the restore to the end of recover.\n\n" +
			"--ahead has to be larger than the lead of any generator over the clock, including its window. 10m is enough if no generator was\n" +
			"more than 5 min ahead, and leases have default settings; docs/IDENTITY.md#after-a-restore has the conditions. Services of\n" +
			"package cached with bursts need more, such as 1h. Without --yes it changes nothing.",
		Example: "  uidring workers recover --ahead 1h --store mysql://db/ids --namespace orders\n" +
			"  uidring workers recover --ahead 1h --yes",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if ahead < 10*time.Minute {
				return usagef("--ahead %v, allowed: 10m or more, and above the lead of any generator; with less, IDs that were issued after the backup may be issued again", ahead)
			}
			return flags.read(cmd.Context(), func(seen *listing) error {
				return flags.recover(cmd.Context(), s, seen, ahead)
			})
		},
	}
	flags.addTo(cmd)
	flags.timeout, cmd.Flags().Lookup("timeout").DefValue = 5*time.Minute, "5m0s" // recover writes each row separately
	cmd.Flags().DurationVar(&ahead, "ahead", 0, "duration to raise the fences by; required")
	_ = cmd.MarkFlagRequired("ahead")
	s.addYes(cmd)
	return cmd
}

func (f *storeFlags) revoke(ctx context.Context, s *streams, seen *listing, id int64) error {
	seen.Workers = slices.DeleteFunc(seen.Workers, func(w worker) bool { return w.Worker != id })
	if len(seen.Workers) == 0 {
		return fmt.Errorf("namespace %q of %s has no worker ID %d yet; see uidring workers list", seen.Namespace, seen.Store, id)
	}
	row := seen.Workers[0]
	if row.State == "free" || row.State == "revoked" {
		return write(s.out, "worker ID %d is %s already: nothing to do\n", row.Worker, row.State)
	}
	err := s.confirm("this takes worker ID %d of namespace %q from %q, which has to take another one", row.Worker, seen.Namespace, row.Owner)
	if err != nil {
		return err
	}
	return f.within(ctx, func(ctx context.Context) error {
		found, err := seen.store.Load(ctx, row.Worker)
		if err != nil {
			return err
		}
		if found.Version != row.Claims {
			return fmt.Errorf("worker ID %d has changed since it was shown, its holder is %q now; nothing was changed", row.Worker, found.Owner)
		}
		revoked, err := leasestore.Revoke(ctx, seen.store, leasestore.Revocation{WorkerID: row.Worker})
		if err != nil {
			return err
		}
		return write(s.out, "worker ID %d was taken from %q; others may take it from %s on\n",
			row.Worker, row.Owner, revoked.Expires.UTC().Format(time.RFC3339))
	})
}

func (f *storeFlags) recover(ctx context.Context, s *streams, seen *listing, ahead time.Duration) error {
	held := slices.DeleteFunc(slices.Clone(seen.Workers), func(w worker) bool { return w.State != "held" })
	err := s.confirm("this raises the fences of all %d worker IDs of namespace %q by %v or more, even if a finished recovery raised them before, "+
		"and takes %d of the worker IDs from their holders; %[3]v has to exceed the lead of any generator over the clock, including its window, "+
		"which 10m does if none was over 5 min ahead and leases have default settings", len(seen.Workers), seen.Namespace, ahead, len(held))
	if err != nil {
		return err
	}
	return f.within(ctx, func(ctx context.Context) error {
		if err := leasestore.Recover(ctx, seen.store, leasestore.Recovery{Lead: ahead}); err != nil {
			return err
		}
		raised, err := f.look(ctx, seen.store) // an earlier call may have raised some
		if err != nil {
			return fmt.Errorf("the fences are raised, so do not repeat this, but they cannot be shown: %w", err)
		}
		fences := append(raised.Workers, worker{FenceTime: seen.Now.Add(ahead)})
		until := slices.MaxFunc(fences, func(a, b worker) int { return a.FenceTime.Compare(b.FenceTime) }).FenceTime
		most := until.Sub(seen.Now)
		most += most / 10 // serve refuses a little below its bound
		return write(s.out, "%d fences of namespace %q raised by %v or more\nnext: until %s, start uidring serve with --max-ahead %v or more: its IDs begin that far ahead of the clock; defaultgen has no IDs until then, unless OnClockBack is GoOn\n",
			len(seen.Workers), seen.Namespace, ahead, until.Format(time.RFC3339), most.Truncate(time.Minute)+time.Minute)
	})
}
