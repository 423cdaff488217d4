package sqlassigner

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
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
func (l *leases) nodesAllow(ctx context.Context, conn *session, m leasestore.Meta) error {
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
func (s *store) highestNode(ctx context.Context, conn *session) (int64, error) {
	var highest sql.Null[int64]
	var err error
	there := true
	if s.dialect.inSchemas { // PostgreSQL logs each error
		err = conn.QueryRowxContext(ctx, s.db.Rebind("SELECT to_regclass(?) IS NOT NULL"), s.full("WORKER_NODE")).Scan(&there)
	}
	if there && err == nil {
		err = conn.QueryRowxContext(ctx, s.sql("SELECT MAX(ID) FROM WORKER_NODE")).Scan(&highest)
	}
	switch s.dialect.diagnose(err).sentinel {
	case ErrTableMissing:
		return 0, nil
	case ErrAccessDenied:
		return 0, final("%w: cannot see whether WORKER_NODE gives out the same worker IDs: %w; the user needs SELECT on "+
			"it (where there is no such table, create it with %s)", ErrAccessDenied, err, s.dialect.creation(schema.Nodes))
	}
	return highest.V, err
}

// reserved describes the worker IDs that WORKER_NODE must not give out: first and all above it. A
// namespace of WORKER_LEASE has them; if namespace is "", they do not fit the worker field.
type reserved struct {
	namespace string
	first     int64
}

func (r reserved) covers(id int64) bool { return r.namespace != "" && r.first <= id }

// reserved returns the namespace that shares worker IDs with a domain and has the lowest first
// worker ID. A namespace with another split of the bits has all worker IDs.
func (s *store) reserved(ctx context.Context, conn *session, d assigner.Domain) (r reserved, err error) {
	const same = "DATACENTER_BITS = ? AND WORKER_BITS = ?"
	mine := pinOf(d.Layout, d.Epoch)
	split, pace := mine.split(), mine.pace()
	args := []any{split[0], split[1], pace[0], pace[1], split[0], split[1], d.DatacenterID}
	err = conn.QueryRowxContext(ctx, s.sql("SELECT NAMESPACE, CASE WHEN "+same+" THEN FIRST_WORKER_ID ELSE 0 END AS LOWEST FROM WORKER_LEASE_META "+
		"WHERE DATACENTER_BITS + WORKER_BITS + SEQUENCE_BITS = ? AND UNIT_MS = ? AND NOT ("+same+" AND DATACENTER_ID <> ?) "+
		"ORDER BY LOWEST LIMIT 1"), args...).Scan(&r.namespace, &r.first)
	switch sentinel := s.dialect.diagnose(err).sentinel; {
	case errors.Is(err, sql.ErrNoRows), sentinel == ErrTableMissing:
		return reserved{first: d.MaxWorkerID() + 1}, nil
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
		"from that namespace (assigner.Leased), or use another database with another DatacenterID", leasestore.ErrOverlap, id, r.namespace, r.first)
}

// warnNear logs once that less than a tenth of the worker IDs below first remain above id.
func (s *store) warnNear(ctx context.Context, once *sync.Once, r reserved, id int64) {
	left, all := r.first-1-id, r.first-1
	if left > (all-1)/10 {
		return
	}
	once.Do(func() {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "sqlassigner: WORKER_NODE has few worker IDs left; move its services to leases "+
			"before they are used up", slog.Int64("left", left), slog.Int64("highest", id), slog.String("namespace", r.namespace))
	})
}

// pinColumns are the columns of WORKER_NODE_PIN that describe the layout and epoch, in the order of
// pinOf.
var pinColumns = [...]string{"DELTA_BITS", "DATACENTER_BITS", "WORKER_BITS", "SEQUENCE_BITS", "UNIT_MS", "EPOCH_MS"}

type pin [len(pinColumns)]int64

func pinOf(l bitsalloc.Layout, epoch time.Time) pin {
	return pin{int64(l.DeltaBits), int64(l.DatacenterBits), int64(l.WorkerBits), int64(l.SequenceBits),
		l.Unit.Milliseconds(), epoch.UnixMilli()}
}

func (p pin) layout() (bitsalloc.Layout, time.Time) {
	return bitsalloc.Layout{DeltaBits: width(p[0]), DatacenterBits: width(p[1]), WorkerBits: width(p[2]), SequenceBits: width(p[3]),
		Unit: time.Duration(p[4]) * time.Millisecond}, time.UnixMilli(p[5]).UTC()
}

// width returns the width of a field as stored, or 255, which no layout has, for a number that is
// no width: truncated, 284 bits would be the 28 bits of the default layout.
func width(stored int64) uint8 { return uint8(min(uint64(stored), math.MaxUint8)) }

// fields returns p as destinations of rows, and as arguments of statements.
func (p *pin) fields() (list []any) {
	for i := range p {
		list = append(list, &p[i])
	}
	return list
}

// pace returns how fast the IDs of a layout advance: the number of bits below the delta, and the
// unit.
func (p pin) pace() [2]int64 { return [2]int64{p[1] + p[2] + p[3], p[4]} }

// split returns which bits a worker ID has in an ID, given the pace: the widths of the datacenter
// and of the worker.
func (p pin) split() [2]int64 { return [2]int64{p[1], p[2]} }

// Pin stores the layout and epoch of the Java services that take worker IDs from WORKER_NODE.
// Without Pin, the first Go process that uses WORKER_NODE stores its own. Namespaces of
// [LeaseStore] with another unit, or another number of bits below the delta, may then have the same
// worker IDs: their layout has to keep their IDs apart from the Java services', which uidring
// migrate check tells. The tables must exist. Any number of processes may call Pin at once.
//
// It returns [assigner.ErrLayoutMismatch] if another layout or epoch is stored, or an error of
// [bitsalloc.New].
func Pin(ctx context.Context, db *sqlx.DB, cfg Config, l bitsalloc.Layout, epoch time.Time) error {
	a, err := bitsalloc.New(l, epoch)
	if err != nil {
		return fmt.Errorf("sqlassigner: cannot store the layout: %w", err)
	}
	s := newStore(db, cfg, nil)
	return s.do(ctx, "store the layout", func(ctx context.Context, conn *session) error {
		if _, err := s.checkTables(ctx, conn, tablesOf(schema.Nodes)); err != nil {
			return err
		}
		return s.checkPin(ctx, conn, pinOf(a.Layout(), a.Epoch()))
	})
}

// readPin returns the pin, or sql.ErrNoRows when there is none.
func (s *store) readPin(ctx context.Context, conn *session) (stored pin, err error) {
	err = conn.QueryRowxContext(ctx, s.sql("SELECT "+strings.Join(pinColumns[:], ", ")+" FROM WORKER_NODE_PIN WHERE ID = 1")).
		Scan(stored.fields()...)
	return stored, err
}

// checkPin writes the pin if there is none, and returns an error if the pin differs. When two
// processes write it at once, one fails, retries, and reads the pin of the other.
func (s *store) checkPin(ctx context.Context, conn *session, mine pin) error {
	stored, err := s.readPin(ctx, conn)
	if errors.Is(err, sql.ErrNoRows) {
		_, err = conn.ExecContext(ctx, s.sql("INSERT INTO WORKER_NODE_PIN (ID, "+strings.Join(pinColumns[:], ", ")+", CREATED) VALUES (1"+
			strings.Repeat(", ?", len(mine))+", {utc})"), mine.fields()...)
		return err
	}
	if err != nil || stored == mine {
		return err
	}
	var fields []string
	for i, name := range pinColumns {
		if stored[i] != mine[i] {
			fields = append(fields, fmt.Sprintf("%s %d, here %d", name, stored[i], mine[i]))
		}
	}
	return final("%w: WORKER_NODE_PIN has %s; services that share the table use one Layout and Epoch: correct them here, or use another "+
		"database; if WORKER_NODE_PIN is wrong, and no ID was issued with it, delete its row", assigner.ErrLayoutMismatch, strings.Join(fields, "; "))
}
