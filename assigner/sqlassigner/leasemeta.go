package sqlassigner

import (
	"context"
	"database/sql"
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

// LoadMeta refuses tables of a version that it does not know: another one may mean something else.
// Each claim calls it, and a renewal does not: it looks for twins of the tables, too.
func (l *leases) LoadMeta(ctx context.Context) (m assigner.Meta, err error) {
	if l.err != nil {
		return m, l.err
	}
	err = l.store.do(ctx, "read "+l.meta(), func(ctx context.Context, conn *sqlx.Conn) error {
		m = assigner.Meta{}
		if err := l.checkTables(ctx, conn); err != nil {
			return err
		}
		var version, unit, epoch int64
		err := conn.QueryRowxContext(ctx, l.store.sql("SELECT "+strings.Join(metaColumns(), ", ")+
			" FROM WORKER_LEASE_META WHERE NAMESPACE = ?"), l.namespace).Scan(
			&m.Version, &m.Namespace, &m.DatacenterID, &m.FirstWorkerID, &m.NextWorkerID, &m.Prepared, &m.Fence, &m.Token, &m.Identity, &version,
			&m.Layout.DeltaBits, &m.Layout.DatacenterBits, &m.Layout.WorkerBits, &m.Layout.SequenceBits, &unit, &epoch)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return nil
		case err != nil:
			return err
		case version != leaseSchema:
			return final("%w: %s has SCHEMA_VERSION %d, here %d; use a release of this library that knows it",
				assigner.ErrLayoutMismatch, l.meta(), version, leaseSchema)
		}
		m.Layout.Unit = time.Duration(unit) * time.Millisecond
		m.Epoch = time.UnixMilli(epoch).UTC()
		return nil
	})
	if err != nil {
		return assigner.Meta{}, err
	}
	return m, nil
}

func (l *leases) SwapMeta(ctx context.Context, old, next assigner.Meta) (bool, error) {
	if err := errors.Join(l.err, checkMeta(next)); err != nil {
		return false, err
	}
	values := append(metaValues(next), l.namespace)
	if old == (assigner.Meta{}) {
		return l.store.create(ctx, "create "+l.meta(), "INSERT INTO WORKER_LEASE_META ("+strings.Join(metaColumns(), ", ")+
			", NAMESPACE, SWAPS) VALUES ("+strings.Repeat("?, ", len(values))+"1)", values...)
	}
	return l.store.swap(ctx, "change "+l.meta(), "UPDATE WORKER_LEASE_META SET "+strings.Join(metaColumns(), " = ?, ")+
		" = ?, SWAPS = SWAPS + 1 WHERE NAMESPACE = ? AND VERSION = ? AND TOKEN = ?", append(values, old.Version, old.Token)...)
}

// meta names the row of the namespace in an error text.
func (l *leases) meta() string {
	return fmt.Sprintf("row %q of WORKER_LEASE_META", l.namespace)
}
