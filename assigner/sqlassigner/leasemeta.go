package sqlassigner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
)

// leaseSchema is the version of the tables that this code knows.
const leaseSchema = 1

// metaColumns are those that SwapMeta writes, in the order of metaValues.
func metaColumns() []string {
	return append([]string{"VERSION", "NAMESPACE_UUID", "DATACENTER_ID", "FIRST_WORKER_ID",
		"NEXT_WORKER_ID", "PREPARED", "FENCE", "TOKEN", "SERVER_ID",
		"SCHEMA_VERSION"}, pinColumns[:]...)
}

func metaValues(m assigner.Meta) []any {
	return []any{m.Version, m.Namespace, m.DatacenterID, m.FirstWorkerID, m.NextWorkerID, m.Prepared, m.Fence, m.Token, m.Identity, leaseSchema,
		m.Layout.DeltaBits, m.Layout.DatacenterBits, m.Layout.WorkerBits, m.Layout.SequenceBits,
		m.Layout.Unit.Milliseconds(), m.Epoch.UnixMilli()}
}

// A metaRow is a row of WORKER_LEASE_META. Its dest are in the order of metaColumns.
type metaRow struct {
	assigner.Meta
	schema, unit, epoch int64
}

func (r *metaRow) dest() []any {
	m := &r.Meta
	return []any{&m.Version, &m.Namespace, &m.DatacenterID, &m.FirstWorkerID, &m.NextWorkerID, &m.Prepared, &m.Fence, &m.Token, &m.Identity, &r.schema,
		&m.Layout.DeltaBits, &m.Layout.DatacenterBits, &m.Layout.WorkerBits, &m.Layout.SequenceBits, &r.unit, &r.epoch}
}

func (r *metaRow) meta() assigner.Meta {
	r.Layout.Unit = time.Duration(r.unit) * time.Millisecond
	r.Epoch = time.UnixMilli(r.epoch).UTC()
	return r.Meta
}

// LoadMeta refuses a namespace that has a twin, and worker IDs that WORKER_NODE may have given out;
// the meta row is returned all the same then, for tools. It refuses tables of a version that it
// does not know: another one may mean something else. Each claim calls it, and a renewal does not:
// it looks for twins of the tables, too.
func (l *leases) LoadMeta(ctx context.Context) (m assigner.Meta, err error) {
	if l.err != nil {
		return m, l.err
	}
	err = l.store.do(ctx, "read "+l.meta(), func(ctx context.Context, conn *sqlx.Conn) error {
		m = assigner.Meta{}
		if err := l.checkTables(ctx, conn); err != nil {
			return err
		}
		rows, err := l.metas(ctx, conn, " WHERE {folded} = ?", assigner.FoldNamespace(l.namespace))
		if err != nil {
			return err
		}
		row, ok := rows[l.namespace]
		switch {
		case !ok:
			return nil
		case row.schema != leaseSchema:
			return final("%w: %s has SCHEMA_VERSION %d, here %d; use a release of this library that knows it",
				assigner.ErrLayoutMismatch, l.meta(), row.schema, leaseSchema)
		}
		m = row.meta()
		if err := l.twin(rows); err != nil {
			return err
		}
		return l.nodesAllow(ctx, conn, m)
	})
	if err != nil && !errors.Is(err, assigner.ErrWorkerOverlap) {
		return assigner.Meta{}, err
	}
	return m, err
}

// metas returns rows of WORKER_LEASE_META by namespace.
func (l *leases) metas(ctx context.Context, conn *sqlx.Conn, where string, args ...any) (map[string]*metaRow, error) {
	result, err := conn.QueryxContext(ctx, l.store.sql("SELECT NAMESPACE, "+strings.Join(metaColumns(), ", ")+
		" FROM WORKER_LEASE_META"+where), args...)
	if err != nil {
		return nil, err
	}
	defer result.Close()
	rows := make(map[string]*metaRow)
	for result.Next() {
		var name string
		row := new(metaRow)
		if err := result.Scan(append([]any{&name}, row.dest()...)...); err != nil {
			return nil, err
		}
		rows[name] = row
	}
	return rows, result.Err()
}

// twin refuses a namespace when another one of these differs from it in letter case or in spaces at
// the end only. Both would be one to a reader, and to a database that compares names in its own
// way.
func (l *leases) twin(rows map[string]*metaRow) error {
	for name := range rows {
		if err := assigner.CheckNamespaceTwin(l.namespace, name); err != nil {
			return final("%w; a row of WORKER_LEASE_META without rows in WORKER_LEASE was never used, and may be deleted",
				err)
		}
	}
	return nil
}

var _ assigner.Namespaced = (*leases)(nil)

// Namespace implements [assigner.Namespaced].
func (l *leases) Namespace() string { return l.namespace }

// Namespaces implements [assigner.Namespaced]. It leaves out rows of a version that it does not
// know.
func (l *leases) Namespaces(ctx context.Context) (all map[string]assigner.Meta, err error) {
	if l.err != nil {
		return nil, l.err
	}
	err = l.store.do(ctx, "list WORKER_LEASE_META", func(ctx context.Context, conn *sqlx.Conn) error {
		rows, err := l.metas(ctx, conn, "")
		all = make(map[string]assigner.Meta, len(rows))
		for name, row := range rows {
			if row.schema == leaseSchema {
				all[name] = row.meta()
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (l *leases) SwapMeta(ctx context.Context, old, next assigner.Meta) (bool, error) {
	if err := errors.Join(l.err, checkMeta(next)); err != nil {
		return false, err
	}
	values := append(metaValues(next), l.namespace)
	if old == (assigner.Meta{}) {
		if err := l.mayBegin(ctx, next); err != nil {
			return false, err
		}
		absent := &query{0, "SELECT COUNT(*) FROM WORKER_LEASE_META WHERE NAMESPACE = ?", []any{l.namespace}}
		return l.store.create(ctx, "create "+l.meta(), absent, "INSERT INTO WORKER_LEASE_META ("+strings.Join(metaColumns(), ", ")+
			", NAMESPACE, SWAPS) VALUES ("+strings.Repeat("?, ", len(values))+"1)", values...)
	}
	same := &query{1, "SELECT COUNT(*) FROM WORKER_LEASE_META WHERE NAMESPACE = ? AND VERSION = ? AND TOKEN = ?",
		[]any{l.namespace, old.Version, old.Token}}
	return l.store.swap(ctx, "change "+l.meta(), same, "UPDATE WORKER_LEASE_META SET "+strings.Join(metaColumns(), " = ?, ")+
		" = ?, SWAPS = SWAPS + 1 WHERE NAMESPACE = ? AND VERSION = ? AND TOKEN = ?", append(values, old.Version, old.Token)...)
}

// mayBegin checks what LoadMeta checks again once the row is there: a start that is refused is to
// leave no row that says FIRST_WORKER_ID.
func (l *leases) mayBegin(ctx context.Context, m assigner.Meta) error {
	return l.store.do(ctx, "create "+l.meta(), func(ctx context.Context, conn *sqlx.Conn) error {
		rows, err := l.metas(ctx, conn, " WHERE {folded} = ?", assigner.FoldNamespace(l.namespace))
		if err != nil {
			return err
		}
		if err := l.twin(rows); err != nil {
			return err
		}
		return l.nodesAllow(ctx, conn, m)
	})
}

// meta names the row of the namespace in an error text.
func (l *leases) meta() string {
	return fmt.Sprintf("row %q of WORKER_LEASE_META", l.namespace)
}
