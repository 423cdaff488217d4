package storeurl

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/jmoiron/sqlx"
	_ "modernc.org/sqlite" // the driver sqlite

	"github.com/uidring/uidring/assigner/sqlassigner"
)

func openSQLite(s *Store, u *url.URL, namespace string, _ *tls.Config) error {
	path, err := sqlitePath(u)
	if err != nil {
		return err
	}
	// mode=rw: only Create creates the file. EXTRA: a commit is durable in every journal mode that
	// the file may have.
	const settings = "mode=rw&_pragma=busy_timeout(5000)&_pragma=synchronous(EXTRA)&_txlock=immediate"
	file := url.URL{Scheme: "file", Path: path, RawQuery: settings}
	db, err := sqlx.Open("sqlite", file.String())
	if err != nil {
		return err
	}
	s.use(db, namespace)
	s.path = path
	s.blank = func(context.Context) (bool, error) {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return true, nil
		}
		return err == nil && info.Size() == 0, err
	}
	s.create = func(ctx context.Context) error {
		if err := makeFile(path); err != nil {
			return fmt.Errorf("store: create the SQLite file: %w", err)
		}
		return sqlassigner.Apply(ctx, db, sqlassigner.Config{})
	}
	return nil
}

// sqlitePath returns the absolute path of the file.
func sqlitePath(u *url.URL) (string, error) {
	path := u.Path
	if u.Opaque != "" {
		var err error
		if path, err = url.PathUnescape(u.Opaque); err != nil {
			return "", err
		}
	}
	if path == "" || path == ":memory:" {
		return "", errors.New("no file, allowed: sqlite:///path/ids.db, sqlite:ids.db; a database in memory loses all leases")
	}
	return filepath.Abs(path)
}

// makeFile creates an empty file, which is an empty database, and the missing folders above it. It
// syncs the directory entries of the folders and of the file.
func makeFile(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir := filepath.Dir(path)
	var made []string
	for parent := dir; ; parent = filepath.Dir(parent) {
		if _, err := os.Stat(parent); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, parent)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	for _, child := range append(made, path) {
		if err := syncDir(filepath.Dir(child)); err != nil {
			return err
		}
	}
	return nil
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return cmp.Or(dir.Sync(), dir.Close())
}
