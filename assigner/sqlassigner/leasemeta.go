package sqlassigner

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/storecall"
)

// leaseSchema is the version of the tables that this code supports.
const leaseSchema = 1

// metaColumns are the columns that SwapMeta writes, in the order of metaRow.fields.
func metaColumns() []string {
	return append([]string{"VERSION", "NAMESPACE_UUID", "DATACENTER_ID", "FIRST_WORKER_ID", "NEXT_WORKER_ID", "FENCE", "HORIZON", "QUARANTINE", "TOKEN",
		"SERVER_ID", "EXTRA", "SCHEMA_VERSION"}, pinColumns[:]...)
}

// A metaRow is a row of WORKER_LEASE_META.
type metaRow struct {
	leasestore.Meta
	schema int64
	pin    pin
}

// fields returns r as destinations of a row, and as arguments of statements.
func (r *metaRow) fields() []any {
	m := &r.Meta
	return append([]any{&m.Version, &m.Namespace, &m.DatacenterID, &m.FirstWorkerID, &m.NextWorkerID, &m.Fence, &m.Horizon, &m.Quarantine, &m.Token, &m.Identity, &m.Extra, &r.schema},
		r.pin.fields()...)
}

func (r *metaRow) meta() leasestore.Meta {
	r.Layout, r.Epoch = r.pin.layout()
	return r.Meta
}

// LoadMeta returns the meta row together with ErrOverlap if the namespace has a twin, or if
// WORKER_NODE may have given out its worker IDs. It returns an error for tables with another schema
// version. It also looks for twins of the tables; claims call LoadMeta, renewals do not.
func (l *leases) LoadMeta(ctx context.Context) (m leasestore.Meta, err error) {
	err = l.store.do(ctx, "read "+l.meta(), func(ctx context.Context, conn *session) error {
		m = leasestore.Meta{}
		if err := l.checkTables(ctx, conn); err != nil {
			return err
		}
		rows, err := l.like(ctx, conn)
		if err != nil {
			return err
		}
		row, ok := rows[l.namespace]
		if !ok {
			return nil
		}
		m = row.meta()
		return l.allowed(ctx, conn, rows, m)
	})
	if err != nil && !errors.Is(err, leasestore.ErrOverlap) {
		return leasestore.Meta{}, err
	}
	return m, err
}

// metas returns rows of WORKER_LEASE_META by namespace, or an error for one with another schema
// version.
func (l *leases) metas(ctx context.Context, conn *session, where string, args ...any) (map[string]*metaRow, error) {
	rows := make(map[string]*metaRow)
	query := l.store.sql("SELECT NAMESPACE, " + strings.Join(metaColumns(), ", ") + " FROM WORKER_LEASE_META" + where + everyRow)
	return rows, each(ctx, conn, query, args, func(result *sqlx.Rows) error {
		var name string
		row := new(metaRow)
		err := result.Scan(append([]any{&name}, row.fields()...)...)
		if rows[name] = row; err == nil && row.schema != leaseSchema {
			err = final("%w: row %q of WORKER_LEASE_META has SCHEMA_VERSION %d, here %d; use a release of this library that knows it",
				assigner.ErrLayoutMismatch, name, row.schema, leaseSchema)
		}
		return err
	})
}

// like returns the rows of the namespaces that look like this one.
func (l *leases) like(ctx context.Context, conn *session) (map[string]*metaRow, error) {
	return l.metas(ctx, conn, " WHERE {folded} = ?", leasestore.FoldNamespace(l.namespace))
}

// allowed returns an error when another namespace differs only in letter case or trailing spaces,
// because people and some databases take the two names for one, or when WORKER_NODE may have given
// out the worker IDs of the namespace. Within an operation it reads WORKER_NODE once, and again
// after a write, see nodesAllow.
func (l *leases) allowed(ctx context.Context, conn *session, rows map[string]*metaRow, m leasestore.Meta) error {
	for name := range rows {
		if err := leasestore.CheckNamespaceTwin(l.namespace, name); err != nil {
			return final("%w", err)
		}
	}
	if storecall.Noted(ctx, l) != "" {
		return nil
	}
	err := l.nodesAllow(ctx, conn, m)
	if err == nil {
		storecall.Note(ctx, l, "WORKER_NODE")
	}
	return err
}

func (l *leases) Namespaces(ctx context.Context) (map[string]leasestore.Meta, error) {
	return ask(ctx, l.store, "list WORKER_LEASE_META", func(ctx context.Context, conn *session) (map[string]leasestore.Meta, error) {
		rows, err := l.metas(ctx, conn, "")
		all := make(map[string]leasestore.Meta, len(rows))
		for name, row := range rows {
			all[name] = row.meta()
		}
		return all, err
	})
}

func (l *leases) SwapMeta(ctx context.Context, old, next leasestore.Meta) (bool, error) {
	if err := errors.Join(next.CheckTexts(), checkText("Namespace", next.Namespace, maxToken), checkText("Token", next.Token, maxToken),
		checkText("Identity", next.Identity, maxIdentity)); err != nil {
		return false, err
	}
	row := &metaRow{Meta: next, schema: leaseSchema, pin: pinOf(next.Layout, next.Epoch)}
	what, values := "change "+l.meta(), row.fields()
	if old == (leasestore.Meta{}) {
		ok, err := l.swap(ctx, what, metaTable, l.mayBegin(next), "INSERT INTO WORKER_LEASE_META ("+strings.Join(metaColumns(), ", ")+
			", NAMESPACE, SWAPS) VALUES ("+strings.Repeat("?, ", len(values)+1)+"1)"+l.store.unlessKept(metaTable), append(values, l.namespace)...)
		if ok && err == nil {
			l.store.warnAfar(ctx)
		}
		return ok, err
	}
	same := []any{l.namespace, old.Version, old.Token}
	ready := l.store.count(1, "WORKER_LEASE_META"+sameMeta, same...)
	return l.swap(ctx, what, metaTable, ready, "UPDATE WORKER_LEASE_META SET "+strings.Join(metaColumns(), " = ?, ")+
		" = ?, SWAPS = SWAPS + 1"+sameMeta, append(values, same...)...)
}

const sameMeta = " WHERE NAMESPACE = ? AND VERSION = ? AND TOKEN = ?"

// mayBegin returns a probe for no meta row. It runs the checks of LoadMeta before the row is
// created, so that a rejected start leaves no row with its FIRST_WORKER_ID.
func (l *leases) mayBegin(m leasestore.Meta) probe {
	return func(ctx context.Context, conn *session) (bool, error) {
		rows, err := l.like(ctx, conn)
		if err != nil || rows[l.namespace] != nil {
			return false, err
		}
		return true, l.allowed(ctx, conn, rows, m)
	}
}

// meta names the row of the namespace in an error text.
func (l *leases) meta() string {
	return fmt.Sprintf("row %q of WORKER_LEASE_META", l.namespace)
}
