package sqlassigner

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
)

// Disposable returns an assigner that gives every lease a new worker ID, as Baidu's UidGenerator
// does: it inserts a row into WORKER_NODE, whose key is the worker ID. Worker IDs start at 1 and
// are never reused, so a layout with 17 worker bits allows 131,071 starts; after that Assign
// returns [assigner.ErrWorkersExhausted]. If the same database has a namespace of [LeaseStore] with
// the same layout, epoch and datacenter ID, Assign returns [leasestore.ErrOverlap] from its
// assigner.LeaseConfig.FirstWorkerID on. Assign logs a warning once when less than a tenth of the
// worker IDs below is left.
//
// The grant is [assigner.GuaranteeFresh] and not reusable. Renew reads the row and its token again
// and returns [assigner.ErrWorkerRowLost] when either has vanished or changed. Release does
// nothing. The row records the address of the process: the environment variables JPAAS_HOST and
// JPAAS_HTTP_PORT (or JPAAS_HOST_PORT_8080), or else the host's address. Host without port, or port
// without host, is an error.
//
// Any number of goroutines may use the assigner at once.
func Disposable(db *sqlx.DB, cfg Config) assigner.Assigner {
	return &disposable{nodes{store: newStore(db, cfg, nil)}}
}

type disposable struct{ nodes }

func (a *disposable) Assign(ctx context.Context, d assigner.Domain) (assigner.Lease, error) {
	n, err := thisNode()
	if err != nil {
		return nil, err
	}
	l := &disposableLease{store: a.store, token: rand.Text()}
	err = a.store.assign(ctx, d, func(ctx context.Context, conn *sqlx.Conn) (err error) {
		l.workerID, err = a.add(ctx, conn, n, d, func(tx *sqlx.Tx, id int64) error {
			_, err := tx.ExecContext(ctx, a.store.sql("INSERT INTO WORKER_NODE_TOKEN (ID, TOKEN, CREATED) VALUES (?, ?, {utc})"),
				id, l.token)
			return err
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

type disposableLease struct {
	store    *store
	workerID int64
	token    string
}

func (l *disposableLease) Grant() assigner.Grant {
	return assigner.Grant{WorkerID: l.workerID, First: 1, Limit: assigner.Unlimited, Guarantee: assigner.GuaranteeFresh}
}

func (l *disposableLease) Renew(ctx context.Context, _, _ int64) error {
	return l.store.do(ctx, "check the worker ID", func(ctx context.Context, conn *sqlx.Conn) error {
		var token sql.NullString
		err := conn.QueryRowxContext(ctx, l.store.sql("SELECT t.TOKEN FROM WORKER_NODE n "+
			"LEFT JOIN WORKER_NODE_TOKEN t ON t.ID = n.ID WHERE n.ID = ?"), l.workerID).Scan(&token)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return l.lost("has vanished from WORKER_NODE")
		case err != nil:
			return err
		case !token.Valid:
			return l.lost("has vanished from WORKER_NODE_TOKEN")
		case token.String != l.token:
			return l.lost("has another token in WORKER_NODE_TOKEN: the number was given out again")
		}
		return nil
	})
}

func (l *disposableLease) lost(how string) error {
	return final("%w: the row with ID %d %s (a row was deleted, or the database went back to an earlier state); "+
		"worker %d must not be used any more", assigner.ErrWorkerRowLost, l.workerID, how, l.workerID)
}

// Release does nothing: the row stays, so the worker ID is never reused.
func (l *disposableLease) Release(context.Context, int64) error { return nil }
