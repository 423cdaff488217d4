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

// assign checks durability, the tables and the pin, and then runs take, which returns the worker ID
// of a lease.
func (a *nodes) assign(ctx context.Context, d assigner.Domain, l *nodeLease,
	take func(context.Context, *sqlx.Conn) (int64, error)) (assigner.Lease, error) {
	err := a.store.do(ctx, "take a worker ID", func(ctx context.Context, conn *sqlx.Conn) (err error) {
		if err := a.store.checkDurable(ctx, conn, tablesOf(schema.Nodes), "worker IDs"); err != nil {
			return err
		}
		// A namespace in a twin of WORKER_LEASE_META could have the same worker IDs unseen.
		used := append(tablesOf(schema.Nodes), metaTable)
		if _, err := a.store.checkTables(ctx, conn, used); err != nil {
			return err
		}
		if err := a.store.permanent(ctx, conn, used); err != nil {
			return err
		}
		if err := a.store.checkPin(ctx, conn, pinOf(d.Layout, d.Epoch)); err != nil {
			return err
		}
		l.grant.WorkerID, err = take(ctx, conn)
		return err
	})
	if err != nil {
		return nil, err
	}
	l.store, l.grant.First, l.grant.Limit = a.store, 1, assigner.Unlimited
	return l, nil
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
	tx, err := conn.BeginTxx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit; if it fails, the server rolls back
	if id, err = a.store.insertNode(ctx, tx, n, d); err != nil {
		return 0, err
	}
	if err := before.allows(id); err != nil {
		return 0, err
	}
	if err := more(tx, id); err != nil {
		return 0, err
	}
	if err := tx.Commit(); err != nil {
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
func (s *store) insertNode(ctx context.Context, tx *sqlx.Tx, n node, d assigner.Domain) (id int64, err error) {
	query := s.sql("INSERT INTO WORKER_NODE (HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED) VALUES (?, ?, ?, {today}, {now}, {now})")
	if s.dialect.conflict {
		err = tx.QueryRowxContext(ctx, query+" RETURNING ID", n.host, n.port, n.kind).Scan(&id)
	} else if result, errInsert := tx.ExecContext(ctx, query, n.host, n.port, n.kind); errInsert != nil {
		err = errInsert
	} else {
		id, err = result.LastInsertId()
	}
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

// A nodeLease has a worker ID of WORKER_NODE, without a fence.
type nodeLease struct {
	store *store
	grant assigner.Grant
	// lost reads the rows of the lease again, and returns how they have changed, or "".
	lost func(ctx context.Context, conn *sqlx.Conn) (how string, err error)
}

func (l *nodeLease) Grant() assigner.Grant { return l.grant }

func (l *nodeLease) Renew(ctx context.Context, _, _ int64) error {
	return l.store.do(ctx, "check the worker ID", func(ctx context.Context, conn *sqlx.Conn) error {
		how, err := l.lost(ctx, conn)
		if how != "" {
			return final("%w: %s; worker %d must not be used here any more", assigner.ErrWorkerRowLost, how, l.grant.WorkerID)
		}
		return err
	})
}

// Release does nothing: the rows stay. A worker ID of Disposable is never used again, and the next
// start with a key of Sticky uses its row.
func (l *nodeLease) Release(context.Context, int64) error { return nil }
