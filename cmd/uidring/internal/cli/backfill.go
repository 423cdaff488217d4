package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/backdate"
	"github.com/uidring/uidring/cmd/uidring/internal/storeurl"
)

func newBackfill(s *streams) *cobra.Command {
	var flags storeFlags
	cmd := &cobra.Command{
		Use:   "backfill",
		Short: "Print an ID for each past time of standard input",
		Long: "backfill reads times from standard input, one per line and in any order, and prints an ID of that time for each. No other process\n" +
			"has issued these IDs or will: they have a worker ID of the namespace that was never given out. The namespace has the layout. A\n" +
			"second with more times than IDs takes one more worker ID.\n\n" +
			"A time is milliseconds since 1970, or as in 2026-11-21, 2026-11-21 15:04:05.25 (both UTC), or 2026-11-21T15:04:05+01:00. backfill\n" +
			"stops at the first line that is no time, such as an empty one, or a time before the second unit of the epoch or after now. IDs that\n" +
			"were printed are used up: start again with new ones.",
		Example: "  mysql -N -e 'SELECT created_at FROM orders ORDER BY seq' ids | uidring backfill --namespace orders > ids.txt",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			st, err := flags.open()
			if err != nil {
				return err
			}
			defer st.Close()
			b := &backfill{flags: &flags, store: st}
			out := bufio.NewWriter(s.out)
			return errors.Join(s.eachLine(func(number int, line string) error {
				id, err := b.one(cmd.Context(), line)
				if err != nil {
					return fmt.Errorf("line %d: %w", number, err)
				}
				return write(out, "%d\n", id)
			}), out.Flush())
		},
	}
	flags.addTo(cmd)
	return cmd
}

// A backfill is one call of uidring backfill.
type backfill struct {
	flags *storeFlags
	store *storeurl.Store
	ids   *backdate.Generator // nil before the first time: an input without times uses up no worker ID
}

// take makes a generator of the namespace with another worker ID.
func (b *backfill) take(ctx context.Context) error {
	return b.flags.within(ctx, func(ctx context.Context) error {
		meta, err := b.store.LoadMeta(ctx)
		if err != nil {
			return err
		}
		if meta.Version == 0 {
			return usagef("--namespace %q, allowed: a namespace that exists; the first generator creates it", b.flags.namespace)
		}
		b.ids, err = backdate.New(ctx, backdate.Config{Layout: meta.Layout, Epoch: meta.Epoch, DatacenterID: meta.DatacenterID,
			Assigner: assigner.Auto(b.store, assigner.LeaseConfig{FirstWorkerID: meta.FirstWorkerID})})
		return err
	})
}

func (b *backfill) one(ctx context.Context, line string) (int64, error) {
	var at timeFlag
	if err := at.Set(line); err != nil {
		return 0, fmt.Errorf("time %q, %w", line, err)
	}
	if b.ids == nil {
		if err := b.take(ctx); err != nil {
			return 0, err
		}
	}
	id, err := b.ids.At(at.Time)
	if !errors.Is(err, backdate.ErrUnitFull) {
		return id, err
	}
	if err := b.take(ctx); err != nil {
		return 0, err
	}
	return b.ids.At(at.Time)
}
