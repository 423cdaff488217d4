package sqlassigner

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/schema"
)

// Disposable returns an assigner that gives every lease a new worker ID, as Baidu's UidGenerator
// does: it inserts a row into WORKER_NODE, whose key is the worker ID. Worker IDs start at 1 and
// are never reused, so a layout with 17 worker bits allows 131,071 starts; after that Assign
// returns [assigner.ErrWorkersExhausted]. If the same database has a namespace of [LeaseStore] with
// the same layout and datacenter ID, Assign returns [leasestore.ErrOverlap] from its
// assigner.LeaseConfig.FirstWorkerID on. Assign logs a warning once when less than a tenth of the
// worker IDs is left.
//
// The grant is [assigner.GuaranteeFresh] and not reusable. Renew reads the row and its token again
// and returns [assigner.ErrWorkerRowLost] when either has vanished or changed. End leaves the rows.
// The row records the address of the process: the environment variables JPAAS_HOST and
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
	l.lost = func(ctx context.Context, conn *session) (string, error) {
		return a.lost(ctx, conn, l.grant.WorkerID, token)
	}
	return a.assign(ctx, d, l, func(ctx context.Context, conn *session) (int64, error) {
		return a.add(ctx, conn, n, d, func(tx *sqlx.Tx, id int64) error {
			_, err := tx.ExecContext(ctx, a.store.sql("INSERT INTO WORKER_NODE_TOKEN (ID, TOKEN, CREATED) VALUES (?, ?, {utc})"), id, token)
			return err
		})
	})
}

func (a *disposable) lost(ctx context.Context, conn *session, id int64, mine string) (how string, err error) {
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

// nodes takes worker IDs from WORKER_NODE.
type nodes struct {
	store  *store
	warned sync.Once // that few worker IDs are left
}

// assign checks durability, the tables and the pin, and then runs take, which returns the worker ID
// of a lease.
func (a *nodes) assign(ctx context.Context, d assigner.Domain, l *nodeLease,
	take func(context.Context, *session) (int64, error)) (assigner.Lease, error) {
	err := a.store.run(ctx, "take a worker ID", func(ctx context.Context, conn *session) (err error) {
		if err := a.store.checkDurable(ctx, conn, tablesOf(schema.Nodes), "worker IDs"); err != nil {
			return err
		}
		// A namespace in a twin of WORKER_LEASE_META could have the same worker IDs unseen.
		used := append(tablesOf(schema.Nodes), metaTable)
		if _, err := a.store.checkTables(ctx, conn, used); err != nil {
			return err
		}
		for _, t := range used {
			if err := a.store.checkPermanent(ctx, conn, t); err != nil {
				return err
			}
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
	l.store, l.grant.First, l.grant.Last = a.store, 1, assigner.Unlimited
	return l, nil
}

// add takes a worker ID outside all namespaces of WORKER_LEASE, and runs more in the transaction of
// its row. It reads the namespaces before the transaction, to leave no row for a rejected worker
// ID, and again after it, since a namespace may have been created meanwhile. If the result of a
// commit is unknown, the worker ID is wasted.
func (a *nodes) add(ctx context.Context, conn *session, n node, d assigner.Domain, more func(tx *sqlx.Tx, id int64) error) (id int64, err error) {
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
	if s.dialect.returning {
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
	ended bool
	// lost reads the rows of the lease again, and returns how they have changed, or "".
	lost func(ctx context.Context, conn *session) (how string, err error)
}

func (l *nodeLease) Grant() assigner.Grant { return l.grant }

func (l *nodeLease) Renew(ctx context.Context, _ assigner.Use) (assigner.Grant, error) {
	if l.ended {
		return l.grant, fmt.Errorf("%w: the lease of worker %d has ended", assigner.ErrWorkerRowLost, l.grant.WorkerID)
	}
	return l.grant, l.store.do(ctx, "check the worker ID", func(ctx context.Context, conn *session) error {
		how, err := l.lost(ctx, conn)
		if how != "" {
			return final("%w: %s; worker %d must not be used here any more", assigner.ErrWorkerRowLost, how, l.grant.WorkerID)
		}
		return err
	})
}

// End leaves the rows: a worker ID of Disposable is never used again, and the next start with a key
// of Sticky uses its row.
func (l *nodeLease) End(context.Context, assigner.Ending) error {
	l.ended = true
	return nil
}

// The values of WORKER_NODE.TYPE.
const (
	typeContainer = 1
	typeHost      = 2
)

// A node describes, in WORKER_NODE, the process that took a worker ID.
type node struct {
	host, port string
	kind       int
}

// thisNode follows the rules of the original. In a container of its platform, the environment
// variables JPAAS_HOST and JPAAS_HTTP_PORT, or else JPAAS_HOST_PORT_8080, hold the container's
// address. Elsewhere thisNode uses the host's address and a made-up port that differs between
// processes.
func thisNode() (node, error) {
	env := func(name string) string { return strings.TrimSpace(os.Getenv(name)) }
	host, port := env("JPAAS_HOST"), cmp.Or(env("JPAAS_HTTP_PORT"), env("JPAAS_HOST_PORT_8080"))
	switch {
	case host != "" && port != "":
		return node{host, port, typeContainer}, nil
	case host != "" || port != "":
		return node{}, fmt.Errorf("sqlassigner: JPAAS_HOST is %q and JPAAS_HTTP_PORT (or JPAAS_HOST_PORT_8080) is %q; "+
			"set both in a container, and neither of them elsewhere", host, port)
	}
	return node{hostName(), fmt.Sprintf("%d-%d", time.Now().UnixMilli(), mathrand.IntN(100_000)), typeHost}, nil
}

// hostName returns the host's address on the way to other networks, or its name if it has none. The
// column is only read by people.
func hostName() string {
	for _, elsewhere := range [...]string{"192.0.2.1:9", "[2001:db8::1]:9"} { // for documentation
		if conn, err := net.Dial("udp", elsewhere); err == nil { // sends nothing
			defer conn.Close()
			return conn.LocalAddr().(*net.UDPAddr).IP.String()
		}
	}
	name, _ := os.Hostname()
	return cmp.Or(name, "localhost")
}

// maxKey is the width of WORKER_STICKY.SERVICE_KEY, in characters.
const maxKey = 128

// Sticky returns an assigner that gives a service key the same worker ID at every start. The first
// start with a key takes the worker ID from WORKER_NODE, the table of [Disposable]; a row of
// WORKER_STICKY keeps it. A key has 1 to 128 characters, no control characters, and no space at
// either end; keys are case-sensitive. Of all processes that share a key, the last to start has the
// worker ID, so an address that several hosts or containers share is no key. A configured key is
// best, such as the name of a pod of a StatefulSet.
//
// The grant is [assigner.GuaranteeSticky], reusable, and not fenced. When a second process starts
// with a key, it takes over the worker ID. Renew of the first process then returns
// [assigner.ErrWorkerRowLost] and names the second; until then, for up to a minute, both issue the
// same IDs. A generator that has lost its worker ID takes it back, so two processes with one key
// take it from each other in turns: give each process a key of its own. [assigner.Fenced] rejects
// the second process and keeps the IDs of both apart.
//
// Any number of goroutines may use the assigner at once. Its leases share the key. End leaves the
// row unchanged.
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
	l.lost = func(ctx context.Context, conn *session) (string, error) { return a.lost(ctx, conn, l.grant.WorkerID) }
	holder := fmt.Sprintf("%s:%s pid %d", n.host, n.port, os.Getpid())
	return a.assign(ctx, d, l, func(ctx context.Context, conn *session) (int64, error) {
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
		r, err := a.store.reserved(ctx, conn, d) // again: the start that inserted the row may have been refused
		if err = cmp.Or(err, r.allows(id)); err != nil {
			return 0, err
		}
		_, err = conn.ExecContext(ctx, a.store.sql("UPDATE WORKER_STICKY SET TOKEN = ?, HOLDER = ?, MODIFIED = {utc} "+
			"WHERE SERVICE_KEY = ? AND WORKER_ID = ?"), a.token, holder, a.key, id)
		return id, err // a row that was deleted meanwhile is noticed by Renew
	})
}

func (a *sticky) read(ctx context.Context, conn *session) (workerID int64, token, holder string, err error) {
	err = conn.QueryRowxContext(ctx, a.store.sql("SELECT WORKER_ID, TOKEN, HOLDER FROM WORKER_STICKY WHERE SERVICE_KEY = ?"),
		a.key).Scan(&workerID, &token, &holder)
	return workerID, token, holder, err
}

func (a *sticky) lost(ctx context.Context, conn *session, mine int64) (how string, err error) {
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
