package sqlassigner

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/schema"
)

// A database may have two sources of worker IDs. WORKER_NODE gives out 1, 2, 3 and so on; a
// namespace of WORKER_LEASE has the worker IDs from its FIRST_WORKER_ID up. Each source first
// commits its write and then reads the other source. Of two processes that start at once, at least
// one sees the other and fails.
//
// Two layouts keep equal worker IDs apart only if their IDs advance at different paces: with
// another unit, or another number of bits below the delta. Another epoch moves all IDs by the same
// time: one source issues later the IDs that the other issued before. Another split of the bits
// gives equal bits to other worker IDs.

// nodesAllow returns an error if WORKER_NODE may have given out worker IDs of a namespace.
func (l *leases) nodesAllow(ctx context.Context, conn *sqlx.Conn, m leasestore.Meta) error {
	highest, err := l.store.highestNode(ctx, conn)
	if err != nil || highest == 0 {
		return err
	}
	stored, err := l.store.readPin(ctx, conn)
	sentinel := l.store.dialect.diagnose(err).sentinel
	unknown := errors.Is(err, sql.ErrNoRows) || sentinel == ErrTableMissing || sentinel == ErrAccessDenied
	r, mine, advice := reserved{l.namespace, m.FirstWorkerID}, pinOf(m.Layout, m.Epoch), ""
	switch {
	case unknown:
		advice = "; or, if the Java services have another unit or number of bits below the delta, store their layout with " +
			"uidring migrate pin or sqlassigner.Pin"
	case err != nil:
		return err
	case stored.pace() != mine.pace():
		return nil
	case stored.split() != mine.split():
		r.first = 0 // no worker ID is the same bits
	}
	if r.covers(highest) {
		return final("%w: WORKER_NODE has given out the worker IDs up to %d, and namespace %q has those from %d up; set "+
			"LeaseConfig.FirstWorkerID well above %d, since WORKER_NODE keeps growing while Java services use it, in a "+
			"namespace that is new%s; or keep the leases in another database, with another DatacenterID (WORKER_NODE has "+
			"none: another one in this database does not help)", leasestore.ErrOverlap, highest, l.namespace,
			m.FirstWorkerID, max(highest, m.NextWorkerID-1), advice)
	}
	l.store.warnNear(ctx, &l.warned, r, highest)
	return nil
}

// highestNode returns the largest worker ID of WORKER_NODE, or 0 if the table does not exist.
func (s *store) highestNode(ctx context.Context, conn *sqlx.Conn) (int64, error) {
	var highest sql.Null[int64]
	err := conn.QueryRowxContext(ctx, s.sql("SELECT MAX(ID) FROM WORKER_NODE")).Scan(&highest)
	switch s.dialect.diagnose(err).sentinel {
	case ErrTableMissing:
		return 0, nil
	case ErrAccessDenied:
		return 0, final("%w: cannot see whether WORKER_NODE gives out the same worker IDs: %w; the user needs SELECT on "+
			"it (where there is no such table, create it with %s)", ErrAccessDenied, err, s.dialect.creation(schema.Nodes))
	}
	return highest.V, err
}

// reserved describes the worker IDs of a namespace of WORKER_LEASE: first and all above it. The
// zero value stands for no namespace.
type reserved struct {
	namespace string
	first     int64
}

func (r reserved) covers(id int64) bool { return r.namespace != "" && r.first <= id }

// reserved returns the namespace that shares worker IDs with a domain and has the lowest first
// worker ID. A namespace with another split of the bits has all worker IDs.
func (s *store) reserved(ctx context.Context, conn *sqlx.Conn, d assigner.Domain) (r reserved, err error) {
	const same = "DATACENTER_BITS = ? AND WORKER_BITS = ?"
	mine := pinOf(d.Layout, d.Epoch)
	split, pace := mine.split(), mine.pace()
	args := []any{split[0], split[1], pace[0], pace[1], split[0], split[1], d.DatacenterID}
	err = conn.QueryRowxContext(ctx, s.sql("SELECT NAMESPACE, CASE WHEN "+same+" THEN FIRST_WORKER_ID ELSE 0 END AS LOWEST FROM WORKER_LEASE_META "+
		"WHERE DATACENTER_BITS + WORKER_BITS + SEQUENCE_BITS = ? AND UNIT_MS = ? AND NOT ("+same+" AND DATACENTER_ID <> ?) "+
		"ORDER BY LOWEST LIMIT 1"), args...).Scan(&r.namespace, &r.first)
	switch sentinel := s.dialect.diagnose(err).sentinel; {
	case errors.Is(err, sql.ErrNoRows), sentinel == ErrTableMissing:
		return reserved{}, nil
	case sentinel == ErrAccessDenied:
		return r, final("%w: cannot see whether a namespace of WORKER_LEASE has the same worker IDs: %w; the user needs SELECT on "+
			"WORKER_LEASE_META (where there is no such table, create it with %s)", ErrAccessDenied, err, s.dialect.creation(schema.Leases))
	}
	return r, err
}

// allows returns an error for a worker ID of WORKER_NODE that belongs to the namespace.
func (r reserved) allows(id int64) error {
	if !r.covers(id) {
		return nil
	}
	return final("%w: WORKER_NODE has given out %d, and namespace %q of WORKER_LEASE has the worker IDs from %d up; take worker IDs "+
		"from that namespace (assigner.Leased), or use another database with another DatacenterID; a namespace without rows "+
		"in WORKER_LEASE was never used: delete its row of WORKER_LEASE_META, and start it with a LeaseConfig.FirstWorkerID "+
		"well above %d", leasestore.ErrOverlap, id, r.namespace, r.first, id)
}

// warnNear logs once that less than a tenth of the worker IDs below a namespace remain above id.
func (s *store) warnNear(ctx context.Context, once *sync.Once, r reserved, id int64) {
	left, all := r.first-1-id, r.first-1
	if r.namespace == "" || 10*left >= all {
		return
	}
	once.Do(func() {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "sqlassigner: WORKER_NODE has few worker IDs left below the first one of a "+
			"namespace of WORKER_LEASE; move its services to leases before they are used up",
			slog.Int64("left", left), slog.Int64("highest", id), slog.String("namespace", r.namespace), slog.Int64("first_worker_id", r.first))
	})
}
