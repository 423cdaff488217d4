package sqlassigner

import (
	"context"
	"sync"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/schema"
)

// nodes takes worker IDs from WORKER_NODE.
type nodes struct {
	store  *store
	warned sync.Once // that few worker IDs are left
}

// add takes a worker ID outside all namespaces of WORKER_LEASE, and runs more in the transaction of
// its row. It reads the namespaces before the transaction, to leave no row for a rejected worker
// ID, and again after it, since a namespace may have been created meanwhile. If the result of a
// commit is unknown, the worker ID is wasted.
func (a *nodes) add(ctx context.Context, conn *sqlx.Conn, n node, d assigner.Domain, more func(tx *sqlx.Tx, id int64) error) (id int64, err error) {
	before, err := a.store.reserved(ctx, conn, d)
	if err != nil {
		return 0, err
	}
	err = a.store.tx(ctx, conn, func(tx *sqlx.Tx) (err error) {
		if id, err = a.store.insertNode(ctx, tx, n, d); err != nil {
			return err
		}
		if err := before.allows(id); err != nil {
			return err
		}
		return more(tx, id)
	})
	if err != nil {
		return 0, err
	}
	after, err := a.store.reserved(ctx, conn, d)
	if err != nil {
		return 0, err
	}
	a.store.warnNear(ctx, &a.warned, after, id)
	return id, after.allows(id)
}

// insertNode takes the next worker ID: the key of a new row of WORKER_NODE.
func (s *store) insertNode(ctx context.Context, tx *sqlx.Tx, n node, d assigner.Domain) (int64, error) {
	query := s.sql("INSERT INTO WORKER_NODE (HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED) " +
		"VALUES (?, ?, ?, {today}, {now}, {now})")
	id, err := s.insert(ctx, tx, query, n.host, n.port, n.kind)
	switch largest := d.MaxWorkerID(); {
	case err != nil:
		return 0, err
	case id <= 0:
		return 0, final("%w: WORKER_NODE gave %d for a new row, allowed: 1 and above; its column ID must count by "+
			"itself, as schema/%s has it, and a proxy must pass the key on", ErrKeyNotReturned, id, s.dialect.files(schema.Nodes)[0].Name)
	case id > largest:
		return 0, final("%w: the next ID of WORKER_NODE is %d, and layout %v has room for %d (1 to %d), one for each start; "+
			"use a layout with more worker bits in a database of its own, or Sticky, which spends one for each key only",
			assigner.ErrWorkersExhausted, id, d.Layout, largest, largest)
	}
	return id, nil
}

// insert returns the key of the new row, by RETURNING or LastInsertId.
func (s *store) insert(ctx context.Context, tx *sqlx.Tx, query string, args ...any) (id int64, err error) {
	if s.dialect.conflict {
		err = tx.QueryRowxContext(ctx, query+" RETURNING ID", args...).Scan(&id)
		return id, err
	}
	result, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}
