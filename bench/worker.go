package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/jmoiron/sqlx"
	_ "modernc.org/sqlite" // the embedded database

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
)

// workers is the source of the worker ID.
type workers struct {
	assigner assigner.Assigner
	source   string       // as the report shows it
	close    func() error // removes the temporary database
}

func openWorkers(ctx context.Context, s *settings) (workers, error) {
	switch {
	case s.worker >= 0:
		return workers{assigner.Static(s.worker), "--worker", func() error { return nil }}, nil
	case s.dsn.text != "":
		return openMySQL(ctx, s)
	default:
		return openSQLite(ctx)
	}
}

func openMySQL(ctx context.Context, s *settings) (workers, error) {
	db, err := sqlassigner.OpenMySQL(s.dsn.text)
	if err != nil {
		return workers{}, err
	}
	if s.create {
		if err := sqlassigner.Apply(ctx, db, sqlassigner.Config{}); err != nil {
			return workers{}, errors.Join(err, db.Close())
		}
	}
	return disposable(db, s.dsn.shown, db.Close), nil
}

// openSQLite makes a database in a temporary folder, which the close func removes.
func openSQLite(ctx context.Context) (w workers, err error) {
	dir, err := os.MkdirTemp("", "uidring-bench-")
	if err != nil {
		return w, fmt.Errorf("no folder for the database: %w", err)
	}
	remove := func() error { return os.RemoveAll(dir) }
	defer func() {
		if err != nil {
			err = errors.Join(err, remove())
		}
	}()
	path := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(filepath.Join(dir, "worker_node.db")), RawQuery: "_pragma=synchronous(EXTRA)"}
	handle, err := sql.Open("sqlite", path.String())
	if err != nil {
		return w, err
	}
	db := sqlx.NewDb(handle, "sqlite")
	if err := sqlassigner.Apply(ctx, db, sqlassigner.Config{}); err != nil {
		return w, errors.Join(err, db.Close())
	}
	return disposable(db, "SQLite in a temporary folder", func() error { return errors.Join(db.Close(), remove()) }), nil
}

func disposable(db *sqlx.DB, where string, closing func() error) workers {
	return workers{
		assigner: sqlassigner.Disposable(db, sqlassigner.Config{}),
		source:   "WORKER_NODE, " + where,
		close:    closing,
	}
}
