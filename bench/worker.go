package main

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"

	"github.com/jmoiron/sqlx"
	_ "modernc.org/sqlite" // the embedded database

	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/schema"
)

// openDatabase opens the database with the table WORKER_NODE: MySQL or MariaDB if there is a
// DSN, and otherwise SQLite in a temporary folder, which the close func removes. With create, it
// creates missing tables.
func openDatabase(ctx context.Context, dsn string, create bool) (db *sqlx.DB, close func() error, err error) {
	if dsn == "" {
		db, close, err = openSQLite()
	} else {
		db, err = sqlassigner.OpenMySQL(dsn)
		close = func() error { return db.Close() }
	}
	if err != nil {
		return nil, nil, err
	}
	if create || dsn == "" {
		if _, err := sqlassigner.Apply(ctx, db, sqlassigner.Config{}, schema.Nodes); err != nil {
			return nil, nil, errors.Join(err, close())
		}
	}
	return db, close, nil
}

func openSQLite() (*sqlx.DB, func() error, error) {
	dir, err := os.MkdirTemp("", "uidring-bench-")
	if err != nil {
		return nil, nil, err
	}
	name := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(filepath.Join(dir, "worker_node.db")), RawQuery: "_pragma=synchronous(EXTRA)"}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	return sqlx.NewDb(db, "sqlite"), func() error { return errors.Join(db.Close(), os.RemoveAll(dir)) }, nil
}
