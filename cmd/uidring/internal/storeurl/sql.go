package storeurl

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/segment"
)

// dialTimeout is the time limit for a new connection, unless the URL has another.
const dialTimeout = 5 * time.Second

// use sets the database handle of the store. Close closes the handle.
func (s *Store) use(db *sqlx.DB, namespace string) {
	s.db = db
	s.Store = sqlassigner.LeaseStore(db, namespace, sqlassigner.Config{})
	s.create = func(ctx context.Context) error { return sqlassigner.Apply(ctx, db, sqlassigner.Config{}) }
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
