package sqlassigner

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
)

// maxKey is the width of WORKER_STICKY.SERVICE_KEY, in characters.
const maxKey = 128

// Sticky returns an assigner that gives a service key the same worker ID at every start. The first
// start with a key takes the worker ID from WORKER_NODE, the table of [Disposable]; a row of
// WORKER_STICKY keeps it. A key has 1 to 128 characters, no control characters, and no space at
// either end; keys are case-sensitive. Of all processes that share a key, the last to start has the
// worker ID, so an address that several hosts or containers share is no key.
//
// The grant is [assigner.GuaranteeSticky], reusable, and not fenced. When a second process starts
// with a key, it takes over the worker ID. Renew of the first process then returns
// [assigner.ErrWorkerRowLost] and names the second; until then, for up to a minute, both issue the
// same IDs. A generator that has lost its worker ID takes it back, so two processes with one key
// take it from each other in turns: give each process a key of its own. [assigner.Fenced] rejects
// the second process and keeps the IDs of both apart.
//
// Any number of goroutines may use the assigner at once. Its leases share the key. Release leaves
// the row unchanged.
func Sticky(db *sqlx.DB, key string, cfg Config) assigner.Assigner {
	return &sticky{nodes: nodes{store: newStore(db, cfg, checkKey(key))}, key: key, token: rand.Text()}
}

func checkKey(key string) error {
	n := utf8.RuneCountInString(key)
	switch {
	case n == 0 || n > maxKey:
		return fmt.Errorf("sqlassigner: key of Sticky has %d characters, allowed: 1 to %d", n, maxKey)
	case !utf8.ValidString(key) || strings.ContainsFunc(key, unicode.IsControl):
		return fmt.Errorf("sqlassigner: key of Sticky is %q, allowed: UTF-8 without control characters", key)
	case strings.TrimSpace(key) != key:
		return fmt.Errorf("sqlassigner: key of Sticky is %q, allowed: no space at either end", key)
	}
	return nil
}

type sticky struct {
	nodes
	key, token string
}

// Assign writes the token of the assigner into the row of the key. All generators of the assigner
// share this token, so a second generator that is rejected leaves the row to the first.
func (a *sticky) Assign(ctx context.Context, d assigner.Domain) (assigner.Lease, error) {
	n, err := thisNode()
	if err != nil {
		return nil, err
	}
	if d.ReuseError != nil { // before the row is taken from a holder that may use it
		return nil, fmt.Errorf("sqlassigner: key %q of Sticky: %w", a.key, d.ReuseError)
	}
	l := &nodeLease{grant: assigner.Grant{Guarantee: assigner.GuaranteeSticky, Reusable: true}}
	l.lost = func(ctx context.Context, conn *sqlx.Conn) (string, error) { return a.lost(ctx, conn, l.grant.WorkerID) }
	holder := fmt.Sprintf("%s:%s pid %d", n.host, n.port, os.Getpid())
	return a.assign(ctx, d, l, func(ctx context.Context, conn *sqlx.Conn) (int64, error) {
		id, _, _, err := a.read(ctx, conn)
		if errors.Is(err, sql.ErrNoRows) {
			return a.add(ctx, conn, n, d, func(tx *sqlx.Tx, id int64) error {
				_, err := tx.ExecContext(ctx, a.store.sql("INSERT INTO WORKER_STICKY (SERVICE_KEY, WORKER_ID, TOKEN, HOLDER, "+
					"MODIFIED, CREATED) VALUES (?, ?, ?, ?, {utc}, {utc})"), a.key, id, a.token, holder)
				return err // of two processes that do this at once, one fails, and reads the other's row
			})
		}
		if err != nil {
			return 0, err
		}
		if err := d.CheckWorkerID(id, fmt.Sprintf("row %q of WORKER_STICKY", a.key)); err != nil {
			return 0, final("%w", err)
		}
		_, err = conn.ExecContext(ctx, a.store.sql("UPDATE WORKER_STICKY SET TOKEN = ?, HOLDER = ?, MODIFIED = {utc} "+
			"WHERE SERVICE_KEY = ? AND WORKER_ID = ?"), a.token, holder, a.key, id)
		return id, err // a row that was deleted meanwhile is noticed by Renew
	})
}

func (a *sticky) read(ctx context.Context, conn *sqlx.Conn) (workerID int64, token, holder string, err error) {
	err = conn.QueryRowxContext(ctx, a.store.sql("SELECT WORKER_ID, TOKEN, HOLDER FROM WORKER_STICKY WHERE SERVICE_KEY = ?"),
		a.key).Scan(&workerID, &token, &holder)
	return workerID, token, holder, err
}

func (a *sticky) lost(ctx context.Context, conn *sqlx.Conn, mine int64) (how string, err error) {
	id, token, holder, err := a.read(ctx, conn)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		how = "has vanished"
	case err != nil:
		return "", err
	case id != mine:
		how = fmt.Sprintf("has worker %d now", id)
	case token != a.token:
		how = "is held by " + holder
	default:
		return "", nil
	}
	return fmt.Sprintf("row %q of WORKER_STICKY %s", a.key, how), nil
}
