package sqlassigner

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/schema"
)

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
	return s.do(ctx, "store the layout", func(ctx context.Context, conn *sqlx.Conn) error {
		if _, err := s.checkTables(ctx, conn, tablesOf(schema.Nodes)); err != nil {
			return err
		}
		return s.checkPin(ctx, conn, pinOf(a.Layout(), a.Epoch()))
	})
}

// readPin returns the pin, or sql.ErrNoRows when there is none.
func (s *store) readPin(ctx context.Context, conn *sqlx.Conn) (stored pin, err error) {
	err = conn.QueryRowxContext(ctx, s.sql("SELECT "+strings.Join(pinColumns[:], ", ")+" FROM WORKER_NODE_PIN WHERE ID = 1")).
		Scan(stored.fields()...)
	return stored, err
}

// checkPin writes the pin if there is none, and returns an error if the pin differs. When two
// processes write it at once, one fails, retries, and reads the pin of the other.
func (s *store) checkPin(ctx context.Context, conn *sqlx.Conn, mine pin) error {
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
