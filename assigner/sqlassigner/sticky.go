package sqlassigner

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
)

// maxKey is the width of WORKER_STICKY.SERVICE_KEY, in characters.
const maxKey = 128

// Sticky returns an assigner that gives a service key the same number at every start. The first
// start with a key takes the number from WORKER_NODE, the table of [Disposable]; a row of
// WORKER_STICKY keeps it. A key has 1 to 128 characters, no control characters, and no space at
// either end; keys that differ in case only are different keys. [HostKey] makes one from the host's
// addresses.
//
// The grant is [assigner.GuaranteeSticky], reusable, and not fenced: nothing keeps a holder that
// does not look from going on. Two processes with one key therefore produce the same IDs until the
// older one looks, so give each process a key of its own. Whoever starts last has the number. The
// older holder learns it from its next Renew, which returns [assigner.ErrWorkerRowLost] and names
// the other; from then on its Assign returns [assigner.ErrWorkerInUse] until the other one has
// released the number, so that two processes do not take it from each other in turns. Release frees
// the number for them, and keeps the row.
//
// Any number of goroutines may use the assigner at once. Generators that share it share the key.
func Sticky(db *sqlx.DB, key string, cfg Config) assigner.Assigner {
	s, err := newStore(db, cfg)
	if err == nil {
		err = checkKey(key)
	}
	return &sticky{store: s, err: err, key: key}
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
	store *store
	err   error // why there is no store, or what is wrong with the key
	key   string

	// mu protects what follows. It is not held during a call to the database.
	mu     sync.Mutex
	held   string // the token of the leases that have not been released
	leases int    // how many there are
	lost   bool   // a lease has found its row with another holder
}

// A stickyRow is a row of WORKER_STICKY. An empty token says that the number is free.
type stickyRow struct {
	workerID      int64
	token, holder string
}

func (a *sticky) Assign(ctx context.Context, d assigner.Domain) (assigner.Lease, error) {
	if a.err != nil {
		return nil, a.err
	}
	n, err := thisNode()
	if err != nil {
		return nil, err
	}
	if d.ReuseError != nil { // before the row is taken from a holder that may use it
		return nil, fmt.Errorf("sqlassigner: key %q of Sticky: %w", a.key, d.ReuseError)
	}
	l := &stickyLease{assigner: a, token: newToken()}
	err = a.store.assign(ctx, d, func(ctx context.Context, conn *sqlx.Conn) error {
		row, found, err := a.read(ctx, conn)
		if err != nil {
			return err
		}
		if !found {
			l.workerID, err = a.create(ctx, conn, n, d, l.token)
			return err
		}
		l.workerID = row.workerID
		if a.holds(row.token) {
			l.token = row.token // a generator that is refused must not cost the other one the row
			return nil
		}
		return a.take(ctx, conn, d, row, n, l.token)
	})
	if err != nil {
		return nil, err
	}
	a.took(l.token)
	return l, nil
}

// holds reports whether a lease of this assigner has the token.
func (a *sticky) holds(token string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return token != "" && token == a.held && !a.lost
}

// took counts a lease with the token.
func (a *sticky) took(token string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held != token {
		a.held, a.leases = token, 0
	}
	a.leases++
	a.lost = false
}

// left takes a lease off the count, and reports whether others have its token still.
func (a *sticky) left(token string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held != token {
		return false
	}
	a.leases--
	return a.leases > 0
}

func (a *sticky) read(ctx context.Context, conn *sqlx.Conn) (row stickyRow, found bool, err error) {
	var token sql.NullString
	err = conn.QueryRowxContext(ctx, a.store.sql("SELECT WORKER_ID, TOKEN, HOLDER FROM WORKER_STICKY WHERE SERVICE_KEY = ?"),
		a.key).Scan(&row.workerID, &token, &row.holder)
	if errors.Is(err, sql.ErrNoRows) {
		return row, false, nil
	}
	row.token = token.String
	return row, err == nil, err
}

// create gives the key a number. Of two processes that do so at once one fails on the key and reads, when
// it tries again, the row of the other.
func (a *sticky) create(ctx context.Context, conn *sqlx.Conn, n node, d assigner.Domain, token string) (id int64, err error) {
	err = a.store.tx(ctx, conn, func(tx *sqlx.Tx) (err error) {
		if id, err = a.store.insertNode(ctx, tx, n, d); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, a.store.sql("INSERT INTO WORKER_STICKY "+
			"(SERVICE_KEY, WORKER_ID, TOKEN, HOLDER, MODIFIED, CREATED) VALUES (?, ?, ?, ?, {utc}, {utc})"),
			a.key, id, token, holder(n))
		return err
	})
	return id, err
}

// take makes the caller the holder of a row that it has read.
func (a *sticky) take(ctx context.Context, conn *sqlx.Conn, d assigner.Domain, row stickyRow, n node, token string) error {
	if err := d.CheckWorkerID(row.workerID, fmt.Sprintf("row %q of WORKER_STICKY", a.key)); err != nil {
		return final("%w", err)
	}
	if row.token == token {
		return nil // an earlier attempt took effect after all
	}
	if row.token != "" && a.mustYield(row.token) {
		return final("%w: row %q of WORKER_STICKY, worker %d, is held by %s; this process held it before that one and "+
			"does not take it back: stop one of the two, or give each a key of its own",
			assigner.ErrWorkerInUse, a.key, row.workerID, row.holder)
	}
	result, err := conn.ExecContext(ctx, a.store.sql("UPDATE WORKER_STICKY SET TOKEN = ?, HOLDER = ?, MODIFIED = {utc} "+
		"WHERE SERVICE_KEY = ? AND WORKER_ID = ? AND COALESCE(TOKEN, '') = ?"),
		token, holder(n), a.key, row.workerID, row.token)
	if err != nil {
		return err
	}
	if changed, err := result.RowsAffected(); err != nil || changed != 1 {
		return errors.Join(err, errRaced)
	}
	return nil
}

// mustYield reports whether this assigner has lost its row to the holder of a token.
func (a *sticky) mustYield(token string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lost || a.held != "" && a.held != token
}

func (a *sticky) markLost() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lost = true
}

// holder names this process, for people.
func holder(n node) string { return fmt.Sprintf("%s:%s pid %d", n.host, n.port, os.Getpid()) }

type stickyLease struct {
	assigner *sticky
	workerID int64
	token    string
}

func (l *stickyLease) Grant() assigner.Grant {
	return assigner.Grant{WorkerID: l.workerID, First: 1, Limit: assigner.Unlimited,
		Guarantee: assigner.GuaranteeSticky, Reusable: true}
}

func (l *stickyLease) Renew(ctx context.Context, _, _ int64) error {
	a := l.assigner
	return a.store.do(ctx, "check the worker ID", func(ctx context.Context, conn *sqlx.Conn) error {
		row, found, err := a.read(ctx, conn)
		switch {
		case err != nil:
			return err
		case !found:
			return l.lost("has vanished")
		case row.workerID != l.workerID:
			return l.lost(fmt.Sprintf("has worker %d now", row.workerID))
		case row.token == "":
			return l.lost("has been freed")
		case row.token != l.token:
			a.markLost()
			return l.lost("is held by " + row.holder)
		}
		return nil
	})
}

func (l *stickyLease) lost(how string) error {
	return final("%w: row %q of WORKER_STICKY %s; worker %d must not be used here any more",
		assigner.ErrWorkerRowLost, l.assigner.key, how, l.workerID)
}

// Release frees the number if this lease still has it, and is the last of its assigner that does.
func (l *stickyLease) Release(ctx context.Context, _ int64) error {
	a := l.assigner
	if a.left(l.token) {
		return nil
	}
	var freed int64
	err := a.store.do(ctx, "release the worker ID", func(ctx context.Context, conn *sqlx.Conn) error {
		result, err := conn.ExecContext(ctx, a.store.sql("UPDATE WORKER_STICKY SET TOKEN = NULL, MODIFIED = {utc} "+
			"WHERE SERVICE_KEY = ? AND TOKEN = ?"), a.key, l.token)
		if err != nil {
			return err
		}
		freed, err = result.RowsAffected()
		return err
	})
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held == l.token {
		a.held = ""
		a.lost = a.lost || freed == 0 // somebody else has it and did not get it from here
	}
	return nil
}
