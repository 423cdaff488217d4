package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cmd/uidring/internal/storeurl"
)

func newWorkers(s *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "workers",
		Short: "List worker IDs and their holders, revoke one, recover after a restore",
		Long: "The workers commands administer the leases of a namespace, in the store of --store or UIDRING_STORE. A lease is the right\n" +
			"to a worker ID. Worker IDs of the table WORKER_NODE have no lease: nodes lists them.",
		Example: "  export UIDRING_STORE=mysql://ids:secret@db/ids UIDRING_NAMESPACE=orders\n" +
			"  uidring workers list\n" +
			"  uidring workers show 7",
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, newCommand := range []func(*streams) *cobra.Command{newWorkersList, newWorkersShow, newWorkersRevoke, newWorkersRecover, newWorkersNamespaces, newWorkersNodes} {
		cmd.AddCommand(newCommand(s))
	}
	return cmd
}

func newWorkersList(s *streams) *cobra.Command {
	var flags storeFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Print all assigned worker IDs",
		Long: "list prints all worker IDs that were ever assigned, their holders, and the state of the store.\n\n" +
			"A fence is the highest delta that any holder of the worker ID was ever allowed to use. AHEAD is its distance from\n" +
			"the store's clock. A worker ID is held; expired: its holder has not renewed it, and others may take it; revoked:\n" +
			"taken from its holder, and not yet available; or free.",
		Example: "  uidring workers list --store sqlite:///var/lib/uidring/ids.db --namespace orders\n" +
			"  uidring workers list --json | jq '.workers[] | select(.state == \"held\") | .owner'",
		Args: exactly(0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return flags.read(cmd.Context(), nil, func(c *session) error {
				return s.print(c.seen.report(), func() error { return c.seen.print(s) })
			})
		},
	}
	flags.addTo(cmd)
	s.addJSON(cmd)
	return cmd
}

func newWorkersShow(s *streams) *cobra.Command {
	var flags storeFlags
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Print one worker ID",
		Long:    "show prints the row of a worker ID. LARGEST ID is the largest ID that any holder was ever allowed to issue with it.",
		Example: "  uidring workers show 7 --store sqlite:///var/lib/uidring/ids.db --namespace orders",
		Args:    exactly(1, "a worker ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := workerID(args[0])
			if err != nil {
				return err
			}
			return flags.read(cmd.Context(), &id, func(c *session) error {
				row := c.seen.rows[0]
				return s.print(c.seen.worker(row), func() error { return c.seen.printRow(s, row) })
			})
		},
	}
	flags.addTo(cmd)
	s.addJSON(cmd)
	return cmd
}

func workerID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 0 {
		return 0, usagef("worker ID %q, allowed: a number, 0 or more", text)
	}
	return id, nil
}

// A view is a namespace at the time when it was read.
type view struct {
	store     string
	namespace string
	status    leasestore.Status
	meta      leasestore.Meta
	alloc     *bitsalloc.Allocator
	rows      []leasestore.Row // by worker ID
	overlap   string           // why the store refuses to assign worker IDs of the namespace, or ""
}

// look reads all rows, or only the row of id. It fails if that row does not exist.
func (f *storeFlags) look(ctx context.Context, st *storeurl.Store, id *int64) (*view, error) {
	v := &view{store: st.String(), namespace: f.namespace}
	var err error
	if v.status, err = st.Status(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", st, err)
	}
	v.meta, err = st.LoadMeta(ctx)
	switch {
	case errors.Is(err, leasestore.ErrOverlap):
		v.overlap = err.Error()
	case err != nil:
		return nil, err
	}
	if v.meta.Version == 0 {
		return nil, fmt.Errorf("namespace %q of %s has no worker IDs yet; uidring workers namespaces lists all namespaces", f.namespace, st)
	}
	if v.alloc, err = bitsalloc.New(v.meta.Layout, v.meta.Epoch); err != nil {
		return nil, fmt.Errorf("the layout in the store: %w", err)
	}
	if id == nil {
		v.rows, err = st.List(ctx)
		slices.SortFunc(v.rows, func(a, b leasestore.Row) int { return cmp.Compare(a.WorkerID, b.WorkerID) })
		return v, err
	}
	row, err := st.Load(ctx, *id)
	if err == nil && row.Version == 0 {
		err = fmt.Errorf("namespace %q of %s has no worker ID %d yet; see uidring workers list", f.namespace, st, *id)
	}
	v.rows = []leasestore.Row{row}
	return v, err
}

// state returns held, expired, revoked or free.
func (v *view) state(r leasestore.Row) string {
	switch {
	case r.Free():
		return "free"
	case !r.Expires.After(v.status.Now):
		return "expired"
	case r.Revoked():
		return "revoked"
	}
	return "held"
}

// guarantee returns the guarantee that leases on this store give.
func (v *view) guarantee() assigner.Guarantee {
	if v.status.Lossy || len(v.status.Faults) > 0 {
		return assigner.GuaranteeLossy
	}
	return assigner.GuaranteeFenced
}

// ago formats the distance of an instant from the store's clock.
func (v *view) ago(t time.Time) string {
	d := t.Sub(v.status.Now).Round(time.Second)
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("in %d days", d/(24*time.Hour))
	case d > 0:
		return "in " + d.String()
	case d > -48*time.Hour:
		return (-d).String() + " ago"
	}
	return fmt.Sprintf("%d days ago", -d/(24*time.Hour))
}

// printStore prints the store, the namespace and its faults.
func (v *view) printStore(s *streams) error {
	about := &table{s: s}
	about.row("STORE", v.store)
	about.row("NAMESPACE", v.namespace)
	about.row("LAYOUT", fmt.Sprintf("%s since %s, datacenter %d, until %s", v.meta.Layout.String(), rfc3339(v.alloc.Epoch()), v.meta.DatacenterID,
		v.alloc.Expires().Format(time.DateOnly)))
	about.row("WORKERS", fmt.Sprintf("%d given out of %d, %d left", v.meta.NextWorkerID, v.alloc.MaxWorkerID()+1, left(v.alloc, v.meta)))
	about.row("GUARANTEE", v.guarantee().String())
	for _, fault := range v.status.Faults {
		about.row("FAULT", s.paint(s.out, yellow, fault))
	}
	if v.overlap != "" {
		about.row("OVERLAP", s.paint(s.out, yellow, printable(v.overlap)))
	}
	return about.print()
}

// print prints the rows, on a terminal below the output of printStore.
func (v *view) print(s *streams) error {
	if s.tables {
		if err := v.printStore(s); err != nil {
			return err
		}
		if err := write(s.out, "\n"); err != nil {
			return err
		}
	}
	t := s.table("WORKER", "STATE", "FENCE", "FENCE TIME", "AHEAD", "EXPIRES", "LEFT", "OWNER")
	for _, r := range v.rows {
		fence := v.alloc.Time(r.Fence)
		t.row(decimalText(r.WorkerID), v.state(r), decimalText(r.Fence), fence.Format(time.RFC3339), v.ago(fence),
			r.Expires.UTC().Format(time.RFC3339), v.ago(r.Expires), printable(r.Owner))
	}
	return t.print()
}

// printable escapes a text of another process: it may contain escape sequences.
func printable(text string) string {
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}

func (v *view) printRow(s *streams, r leasestore.Row) error {
	t := &table{s: s}
	t.row("WORKER", decimalText(r.WorkerID))
	t.row("STATE", v.state(r))
	t.row("OWNER", printable(r.Owner))
	t.row("EXPIRES", fmt.Sprintf("%s (%s)", r.Expires.UTC().Format(time.RFC3339), v.ago(r.Expires)))
	fence := v.alloc.Time(r.Fence)
	t.row("FENCE", fmt.Sprintf("%d, %s (%s)", r.Fence, fence.Format(time.RFC3339), v.ago(fence)))
	t.row("LARGEST ID", v.worker(r).Largest)
	t.row("CLAIMS", decimalText(r.Version))
	t.row("SERVER", printable(r.Identity))
	return t.print()
}

// report returns the view in the form for JSON.
func (v *view) report() any {
	workers := make([]worker, 0, len(v.rows))
	for _, r := range v.rows {
		workers = append(workers, v.worker(r))
	}
	return struct {
		Store      string    `json:"store"`
		Namespace  string    `json:"namespace"`
		Layout     string    `json:"layout"`
		Epoch      time.Time `json:"epoch"`
		Datacenter int64     `json:"datacenter"`
		GivenOut   int64     `json:"givenOut"`
		Left       int64     `json:"left"`
		Guarantee  string    `json:"guarantee"`
		Faults     []string  `json:"faults"`
		Overlap    string    `json:"overlap,omitempty"`
		Server     string    `json:"server"`
		Now        time.Time `json:"now"`
		Workers    []worker  `json:"workers"`
	}{
		v.store, v.namespace, v.meta.Layout.String(), v.alloc.Epoch(), v.meta.DatacenterID, v.meta.NextWorkerID, left(v.alloc, v.meta),
		v.guarantee().String(), append([]string{}, v.status.Faults...), v.overlap, v.status.Identity, v.status.Now.UTC(), workers,
	}
}

// A worker is a row as JSON.
type worker struct {
	Worker    int64     `json:"worker"`
	State     string    `json:"state"`
	Owner     string    `json:"owner"`
	Fence     int64     `json:"fence"`
	FenceTime time.Time `json:"fenceTime"`
	Largest   string    `json:"largestId"`
	Expires   time.Time `json:"expires"`
	Claims    int64     `json:"claims"`
	Server    string    `json:"server"`
}

func (v *view) worker(r leasestore.Row) worker {
	largest, err := v.alloc.Allocate(r.Fence, v.meta.DatacenterID, r.WorkerID, v.alloc.MaxSequence())
	text := decimalText(largest)
	if err != nil || r.Fence == 0 { // a row of another layout, or in quarantine and never granted
		text = "-"
	}
	return worker{r.WorkerID, v.state(r), r.Owner, r.Fence, v.alloc.Time(r.Fence), text, r.Expires.UTC(), r.Version, r.Identity}
}
