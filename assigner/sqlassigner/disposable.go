package sqlassigner

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"

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
	token := rand.Text()
	l := &nodeLease{grant: assigner.Grant{Guarantee: assigner.GuaranteeFresh}}
	l.lost = func(ctx context.Context, conn *sqlx.Conn) (string, error) {
		return a.lost(ctx, conn, l.grant.WorkerID, token)
	}
	return a.assign(ctx, d, l, func(ctx context.Context, conn *sqlx.Conn) (int64, error) {
		return a.add(ctx, conn, n, d, func(tx *sqlx.Tx, id int64) error {
			_, err := tx.ExecContext(ctx, a.store.sql("INSERT INTO WORKER_NODE_TOKEN (ID, TOKEN, CREATED) VALUES (?, ?, {utc})"), id, token)
			return err
		})
	})
}

func (a *disposable) lost(ctx context.Context, conn *sqlx.Conn, id int64, mine string) (how string, err error) {
	var token sql.NullString
	err = conn.QueryRowxContext(ctx, a.store.sql("SELECT t.TOKEN FROM WORKER_NODE n "+
		"LEFT JOIN WORKER_NODE_TOKEN t ON t.ID = n.ID WHERE n.ID = ?"), id).Scan(&token)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		how = "has vanished from WORKER_NODE"
	case err != nil:
		return "", err
	case !token.Valid:
		how = "has vanished from WORKER_NODE_TOKEN"
	case token.String != mine:
		how = "has another token in WORKER_NODE_TOKEN: the number was given out again"
	default:
		return "", nil
	}
	return fmt.Sprintf("the row with ID %d %s (a row was deleted, or the database went back to an earlier state)", id, how), nil
}
