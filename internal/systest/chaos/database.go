package chaos

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/bitsalloc"
)

// A database is the operator's way to the server, which no fault is in.
type database struct {
	db    *sqlx.DB // of a single connection
	store leasestore.Store
	alloc *bitsalloc.Allocator
}

func openDatabase(ctx context.Context, dsn string, alloc *bitsalloc.Allocator) (*database, error) {
	db, err := sqlassigner.OpenMySQL(dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if err := sqlassigner.Apply(ctx, db, sqlassigner.Config{}); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &database{db: db, store: sqlassigner.LeaseStore(db, namespace, sqlassigner.Config{}), alloc: alloc}, nil
}

// occupy takes all worker IDs of the layout except the IDs for the processes.
func (d *database) occupy(ctx context.Context, o options) error {
	const forever = 1000 * time.Hour
	domain := assigner.Domain{Layout: layout(), Epoch: d.alloc.Epoch(), Now: func() int64 { return d.alloc.Delta(time.Now()) }}
	cfg := assigner.LeaseConfig{Window: forever, MaxLead: math.MaxInt64, AllowUndurable: !o.durable()}
	for worker := int64(workers); worker <= domain.MaxWorkerID(); worker++ {
		if _, err := assigner.Fenced(d.store, assigner.Static(worker), "occupied", cfg).Assign(ctx, domain); err != nil {
			return fmt.Errorf("occupy worker ID %d: %w", worker, err)
		}
	}
	return nil
}

// A dump is the contents of the tables at one moment: for each table its rows, for each row its
// columns.
type dump map[string][]map[string]any

// dump reads the tables in one snapshot.
func (d *database) dump(ctx context.Context) (dump, error) {
	tx, err := d.db.BeginTxx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("dump: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	taken := make(dump)
	for _, table := range []string{"WORKER_LEASE", "WORKER_LEASE_META"} {
		rows, err := tx.QueryxContext(ctx, "SELECT * FROM "+table)
		if err != nil {
			return nil, fmt.Errorf("dump: %w", err)
		}
		for rows.Next() {
			row := make(map[string]any)
			if err := rows.MapScan(row); err != nil {
				return nil, fmt.Errorf("dump: %w", errors.Join(err, rows.Close()))
			}
			taken[table] = append(taken[table], row)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return nil, fmt.Errorf("dump: %w", err)
		}
	}
	return taken, nil
}

// restore replaces the contents of the tables with a dump.
func (d *database) restore(ctx context.Context, taken dump) error {
	tx, err := d.db.BeginTxx(ctx, nil)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	for table, rows := range taken {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+table); err != nil {
			return fmt.Errorf("restore: %w", err)
		}
		for _, row := range rows {
			columns := slices.Sorted(maps.Keys(row))
			values := make([]any, len(columns))
			for i, c := range columns {
				values[i] = row[c]
			}
			insert := "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(columns)-1) + ")"
			if _, err := tx.ExecContext(ctx, insert, values...); err != nil {
				return fmt.Errorf("restore: %w", err)
			}
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return nil
}

// fences returns the fence of each worker ID.
func (d *database) fences(ctx context.Context) (map[int64]int64, error) {
	rows, err := d.store.List(ctx)
	if err != nil {
		return nil, err
	}
	fences := make(map[int64]int64, len(rows))
	for _, row := range rows {
		fences[row.WorkerID] = row.Fence
	}
	return fences, nil
}

// held reports whether a process holds a worker ID. A slow process may have taken it a while ago
// and still issue the IDs that it had prepared with an earlier one.
func (d *database) held(ctx context.Context, worker int64) bool {
	status, errStatus := d.store.Status(ctx)
	row, err := d.store.Load(ctx, worker)
	return errStatus == nil && err == nil && row.Token != "" && row.Expires.After(status.Now)
}

// quiet waits until no session is left but this one. A statement whose connection was cut may be
// under way.
func (d *database) quiet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		var others int
		err := d.db.GetContext(ctx, &others, "SELECT COUNT(*) FROM information_schema.PROCESSLIST "+
			"WHERE ID <> CONNECTION_ID() AND USER NOT IN ('system user', 'event_scheduler')")
		if err != nil {
			return fmt.Errorf("wait for sessions to end: %w", err)
		}
		if others == 0 {
			return nil
		}
		pause(ctx, 10*time.Millisecond)
	}
}
