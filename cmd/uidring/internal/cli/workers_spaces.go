package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/spf13/cobra"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cmd/uidring/internal/storeurl"
)

// left returns the number of worker IDs that no process has had yet.
func left(alloc *bitsalloc.Allocator, meta leasestore.Meta) int64 {
	return max(0, alloc.MaxWorkerID()+1-meta.NextWorkerID)
}

func newWorkersNamespaces(s *streams) *cobra.Command {
	var flags storeFlags
	cmd := &cobra.Command{
		Use:     "namespaces",
		Short:   "Print the namespaces of a store",
		Long:    "namespaces prints each namespace of the store with its layout and the worker IDs that no process has had yet (LEFT).",
		Example: "  uidring workers namespaces --store sqlite:///var/lib/uidring/ids.db",
		Args:    exactly(0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return flags.with(cmd.Context(), func(ctx context.Context, st *storeurl.Store) error {
				named, ok := st.Store.(leasestore.Namespaced)
				if !ok {
					return usagef("--store %s, allowed: a store of several namespaces, which a folder is not", st)
				}
				all, err := named.Namespaces(ctx)
				if err != nil {
					return err
				}
				return printNamespaces(s, all)
			})
		},
	}
	flags.addTo(cmd)
	_ = cmd.Flags().MarkHidden("namespace")
	s.addJSON(cmd)
	return cmd
}

// A space is a namespace as JSON.
type space struct {
	Namespace  string    `json:"namespace"`
	Layout     string    `json:"layout"`
	Epoch      time.Time `json:"epoch"`
	Datacenter int64     `json:"datacenter"`
	GivenOut   int64     `json:"givenOut"`
	Left       int64     `json:"left"`
}

func printNamespaces(s *streams, all map[string]leasestore.Meta) error {
	spaces := make([]space, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		meta := all[name]
		alloc, err := bitsalloc.New(meta.Layout, meta.Epoch)
		if err != nil {
			return fmt.Errorf("the layout of namespace %q: %w", name, err)
		}
		spaces = append(spaces, space{name, meta.Layout.String(), alloc.Epoch(), meta.DatacenterID, meta.NextWorkerID, left(alloc, meta)})
	}
	t := s.table("NAMESPACE", "LAYOUT", "EPOCH", "DATACENTER", "GIVEN OUT", "LEFT")
	for _, n := range spaces {
		t.row(printable(n.Namespace), n.Layout, rfc3339(n.Epoch), decimalText(n.Datacenter), decimalText(n.GivenOut), decimalText(n.Left))
	}
	return s.print(struct {
		Namespaces []space `json:"namespaces"`
	}{spaces}, t.print)
}

func newWorkersNodes(s *streams) *cobra.Command {
	var flags storeFlags
	n := nodes{rows: []node{}}
	cmd := &cobra.Command{
		Use:   "nodes",
		Short: "Print the last worker IDs of the table WORKER_NODE",
		Long: "nodes prints the last rows of WORKER_NODE, the table of disposable and sticky worker IDs, which Baidu's UidGenerator has,\n" +
			"too. LEFT is the number of starts until its worker IDs are used up, by the layout that Go processes have stored beside it.",
		Example: "  uidring workers nodes --store mysql://ids:secret@db/ids\n" +
			"  uidring workers nodes --store mysql://ids:secret@db/ids --table worker_node --count 100",
		Args: exactly(0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(n.table) || n.count < 1 {
				return usagef("--table %q --count %d, allowed: a name of letters, digits and _, and 1 or more", n.table, n.count)
			}
			return flags.with(cmd.Context(), func(ctx context.Context, st *storeurl.Store) error {
				db, err := sqlHandle(st)
				if err != nil {
					return err
				}
				if err := n.read(ctx, db); err != nil {
					return fmt.Errorf("%s: read %s: %w", st, n.table, err)
				}
				return s.print(struct {
					Left  *int64 `json:"left"`
					Nodes []node `json:"nodes"`
				}{n.left, n.rows}, func() error { return n.print(s) })
			})
		},
	}
	flags.addTo(cmd)
	_ = cmd.Flags().MarkHidden("namespace")
	cmd.Flags().StringVar(&n.table, "table", "WORKER_NODE", "`name` of the table, as Java services may have it")
	cmd.Flags().IntVar(&n.count, "count", 20, "number of rows to print")
	s.addJSON(cmd)
	return cmd
}

// nodes is one call of uidring workers nodes.
type nodes struct {
	table string
	count int

	rows []node // the newest first
	left *int64 // nil: the layout is unknown
}

// A node is a row of WORKER_NODE.
type node struct {
	Worker  int64  `json:"worker"`
	Host    string `json:"host"`
	Port    string `json:"port"`
	Type    int    `json:"type"`
	Started string `json:"started"`
}

func (n *nodes) read(ctx context.Context, db *sqlx.DB) error {
	// CREATED is the time of the start, in the form of the database.
	rows, err := db.QueryContext(ctx, fmt.Sprintf("SELECT ID, HOST_NAME, PORT, TYPE, CREATED FROM %s ORDER BY ID DESC LIMIT %d", n.table, n.count))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var r node
		if err := rows.Scan(&r.Worker, &r.Host, &r.Port, &r.Type, &r.Started); err != nil {
			return err
		}
		n.rows = append(n.rows, r)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	var bits int
	err = db.QueryRowContext(ctx, "SELECT WORKER_BITS FROM "+n.pin()+" WHERE ID = 1").Scan(&bits)
	if err == nil && len(n.rows) > 0 {
		left := max(0, 1<<bits-1-n.rows[0].Worker)
		n.left = &left
	}
	return ctx.Err() // Java deployments have no such table
}

// pin returns the name of the table with the layout, in the letter case of WORKER_NODE.
func (n *nodes) pin() string {
	if n.table == strings.ToLower(n.table) {
		return n.table + "_pin"
	}
	return n.table + "_PIN"
}

func (n *nodes) print(s *streams) error {
	if s.tables {
		text := "unknown: no layout can be read from " + n.pin()
		if n.left != nil {
			text = decimalText(*n.left)
		}
		if err := write(s.out, "LEFT  %s\n\n", text); err != nil {
			return err
		}
	}
	t := s.table("WORKER", "HOST", "PORT", "TYPE", "STARTED")
	for _, r := range n.rows {
		kind := map[int]string{1: "container", 2: "host"}[r.Type]
		if kind == "" {
			kind = fmt.Sprint(r.Type)
		}
		t.row(decimalText(r.Worker), printable(r.Host), printable(r.Port), kind, r.Started)
	}
	return t.print()
}
