package storeurl

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/jmoiron/sqlx"
	_ "modernc.org/sqlite" // the driver sqlite

	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/schema"
	"github.com/uidring/uidring/segment"
)

// dialTimeout is the time limit for a new connection, unless the URL has another.
const dialTimeout = 5 * time.Second

// use sets the database handle of the store. Close closes the handle.
func (s *Store) use(db *sqlx.DB, namespace string) {
	s.db = db
	s.Store = sqlassigner.LeaseStore(db, namespace, sqlassigner.Config{})
	s.create = func(ctx context.Context, groups []schema.Group) ([]string, error) {
		return sqlassigner.Apply(ctx, db, sqlassigner.Config{Logger: slog.New(slog.DiscardHandler)}, groups...) // Create returns the names
	}
	s.segments = func(allowUndurable bool) segment.Source {
		return sqlassigner.SegmentSource(db, sqlassigner.Config{AllowUndurable: allowUndurable})
	}
	s.close = db.Close
}

func openMySQL(s *Store, u *url.URL, namespace string, config *tls.Config) error {
	if _, err := pathName(u, "a database"); err != nil {
		return err
	}
	cfg, err := sqlassigner.ParseMySQL(u.String())
	if err != nil {
		return err
	}
	if config != nil {
		cfg.TLS = config // the driver adds the name of the host
	}
	db, err := sqlassigner.OpenMySQLConfig(cfg)
	if err != nil {
		return err
	}
	s.use(db, namespace)
	return nil
}

func openPostgres(s *Store, u *url.URL, namespace string, _ *tls.Config) error {
	for param := range u.Query() {
		if strings.Contains(strings.ToLower(param), "password") {
			return fmt.Errorf("parameter %s, allowed: the password before the @", param)
		}
	}
	if _, err := pathName(u, "a database"); err != nil {
		return err
	}
	cfg, err := pgx.ParseConfig(u.String())
	if err != nil {
		return err // pgx hides the password
	}
	if !u.Query().Has("connect_timeout") {
		cfg.ConnectTimeout = dialTimeout
	}
	s.use(sqlx.NewDb(stdlib.OpenDB(*cfg), "pgx"), namespace)
	return nil
}

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
	tables := s.create
	s.create = func(ctx context.Context, groups []schema.Group) ([]string, error) {
		if err := makeFile(path); err != nil {
			return nil, fmt.Errorf("store: create the SQLite file: %w", err)
		}
		return tables(ctx, groups)
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
	if err := makeFolder(dir); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return cmp.Or(file.Close(), syncDir(dir))
}

func makeFolder(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(path)
	if err := makeFolder(parent); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return cmp.Or(dir.Sync(), dir.Close())
}
