package main

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"

	"github.com/jmoiron/sqlx"
	_ "modernc.org/sqlite" // the embedded database

	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/schema"
)

// openDatabase creates the table WORKER_NODE in a SQLite file of a temporary folder, which the
// close func removes.
func openDatabase(ctx context.Context) (db *sqlx.DB, close func() error, err error) {
	dir, err := os.MkdirTemp("", "uidring-bench-")
	if err != nil {
		return nil, nil, err
	}
	name := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(filepath.Join(dir, "worker_node.db")), RawQuery: "_pragma=synchronous(EXTRA)"}
	db, err = sqlx.Open("sqlite", name.String())
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	close = func() error { return errors.Join(db.Close(), os.RemoveAll(dir)) }
	if _, err := sqlassigner.Apply(ctx, db, sqlassigner.Config{}, schema.Nodes); err != nil {
		return nil, nil, errors.Join(err, close())
	}
	return db, close, nil
}
