package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cmd/uidring/internal/storeurl"
)

func newWorkers(s *streams) *cobra.Command {
	return group(&cobra.Command{
		Use:   "workers",
		Short: "List worker IDs, revoke one, recover after a restore",
		Long: "The workers commands administer the leases of a namespace, in the store of --store or UIDRING_STORE. A lease is the right\n" +
			"to a worker ID. Worker IDs of the table WORKER_NODE have no lease.",
		Example: "  export UIDRING_STORE=mysql://ids:secret@db/ids UIDRING_NAMESPACE=orders\n" +
			"  uidring workers list",
	}, newWorkersList(s), newWorkersHorizon(s), newWorkersRevoke(s), newWorkersRecover(s), newWorkersNamespaces(s))
}

func newWorkersList(s *streams) *cobra.Command {
	var flags storeFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Print all assigned worker IDs",
		Long: "list prints all worker IDs that were ever assigned, their holders, and the state of the store.\n\n" +
			"A fence is the highest delta that a holder of the worker ID may use or may have used. AHEAD is how far it is\n" +
			"ahead of the store's clock, with a minus sign once the clock has passed it. The holder of an expired worker ID has not\n" +
			"renewed it, and others may take it. A revoked one was taken from its holder, and is not yet available. Worker IDs that\n" +
			"were set aside for processes that start at once, and never used, share a line. --json lists each.",
		Example: "  uidring workers list --store sqlite:///srv/ids.db --namespace orders\n" +
			"  uidring workers list --json |\n    jq '.workers[] | select(.state == \"held\") | .owner'",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return flags.read(cmd.Context(), func(seen *listing) error {
				return s.print(seen, seen.print)
			})
		},
	}
	flags.addTo(cmd)
	s.addJSON(cmd)
	return cmd
}

func newWorkersHorizon(s *streams) *cobra.Command {
	var flags storeFlags
	cmd := &cobra.Command{
		Use:   "horizon",
		Short: "Print the ID below which the namespace is complete",
		Long: "horizon prints an ID. All smaller IDs of the namespace have been issued, or never will be. A job that reads the rows of a\n" +
			"table by ID reads those below the horizon, and later goes on from there. Rows of open transactions are not counted: see\n" +
			"docs/HORIZON.md. After the first call package backdate has no IDs left in the namespace.",
		Example: "  uidring workers horizon --store sqlite:///srv/ids.db --namespace orders\n" +
			"  uidring workers horizon | uidring parse -",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return flags.with(cmd.Context(), func(ctx context.Context, st *storeurl.Store) error {
				id, err := leasestore.Horizon(ctx, st)
				if err != nil {
					return err
				}
				return s.print(map[string]any{"horizon": uidring.ID(id)}, func(w io.Writer) { fmt.Fprintln(w, id) })
			})
		},
	}
	flags.addTo(cmd)
	s.addJSON(cmd)
	return cmd
}

func newWorkersNamespaces(s *streams) *cobra.Command {
	var flags storeFlags
	cmd := &cobra.Command{
		Use:   "namespaces",
		Short: "Print the namespaces of a store",
		Long: "namespaces prints each namespace of the store with its layout, the next new worker ID (NEXT), and how many there are from it on\n" +
			"(LEFT). Worker IDs below NEXT may be unused: processes that start at once set some aside. assigner.Fenced chooses its worker\n" +
			"IDs, and does not raise NEXT. uidring workers list counts the used ones.",
		Example: "  uidring workers namespaces --store sqlite:///srv/ids.db",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return flags.with(cmd.Context(), func(ctx context.Context, st *storeurl.Store) error {
				all, err := st.Namespaces(ctx)
				if _, single := all[""]; single || st.Single() { // or it is a folder behind a server
					return usagef("--store %s, allowed: a store of several namespaces, which a folder is not", st)
				}
				if err != nil {
					return err
				}
				return s.printNamespaces(all)
			})
		},
	}
	flags.addTo(cmd)
	cmd.Flags().Lookup("namespace").Usage = "`name` of a namespace that an https: server offers; other stores need none (UIDRING_NAMESPACE)"
	s.addJSON(cmd)
	return cmd
}

// A space is a namespace as JSON.
type space struct {
	Namespace  string    `json:"namespace"`
	Layout     string    `json:"layout"`
	Epoch      time.Time `json:"epoch"`
	Datacenter int64     `json:"datacenter"`
	First      int64     `json:"firstWorker"`
	Next       int64     `json:"nextWorker"` // the smallest that no row was made for, but by assigner.Fenced
	Left       int64     `json:"left"`       // worker IDs from Next on
}

func newSpace(name string, meta leasestore.Meta) (space, *bitsalloc.Allocator, error) {
	alloc, err := bitsalloc.New(meta.Layout, meta.Epoch)
	if err != nil {
		return space{}, nil, fmt.Errorf("the layout of namespace %q: %w", name, err)
	}
	left := max(0, alloc.MaxWorkerID()+1-meta.NextWorkerID)
	return space{name, meta.Layout.String(), alloc.Epoch(), meta.DatacenterID, meta.FirstWorkerID, meta.NextWorkerID, left}, alloc, nil
}

func (s *streams) printNamespaces(all map[string]leasestore.Meta) error {
	spaces := make([]space, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		n, _, err := newSpace(name, all[name])
		if err != nil {
			return err
		}
		spaces = append(spaces, n)
	}
	return s.print(map[string]any{"namespaces": spaces}, func(w io.Writer) {
		if len(spaces) == 0 {
			fmt.Fprintln(w, "none")
			return
		}
		fmt.Fprintln(w, "NAMESPACE\tLAYOUT\tEPOCH\tDATACENTER\tNEXT\tLEFT")
		for _, n := range spaces {
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\n", printable(n.Namespace), n.Layout, rfc3339(n.Epoch), n.Datacenter, n.Next, n.Left)
		}
	})
}

// printable escapes a text of another process: it may contain escape sequences.
func printable(text string) string {
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}
