package storeurl

import (
	"context"
	"errors"
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

func openMySQL(s *Store, u *url.URL, namespace string) error {
	if err := checkDatabase(u); err != nil {
		return err
	}
	files, err := tlsConfig(u)
	if err != nil {
		return err
	}
	cfg, err := sqlassigner.ParseMySQL(u.String())
	if err != nil {
		return err
	}
	if files != nil {
		if given := cfg.TLSConfig; given != "" && given != "true" {
			return fmt.Errorf("tls=%q with ca, cert or key, allowed: true", given)
		}
		cfg.TLS = files // the driver adds the name of the host
	}
	db, err := sqlassigner.OpenMySQLConfig(cfg)
	if err != nil {
		return err
	}
	s.use(db, namespace)
	return nil
}

// checkDatabase rejects a URL without the name of a database.
func checkDatabase(u *url.URL) error {
	if strings.TrimPrefix(u.Path, "/") != "" {
		return nil
	}
	k, _ := kindOf(u.Scheme)
	return errors.New("no database, allowed: " + k.forms)
}

func openPostgres(s *Store, u *url.URL, namespace string) error {
	for param := range u.Query() {
		if strings.Contains(strings.ToLower(param), "password") {
			return fmt.Errorf("parameter %s, allowed: the password before the @", param)
		}
	}
	if err := checkDatabase(u); err != nil {
		return err
	}
	cfg, err := pgx.ParseConfig(u.String())
	if err != nil {
		text := err.Error()
		if end := strings.LastIndex(text, "`: "); end >= 0 {
			text = text[end+len("`: "):] // the text before it quotes the URL
		}
		return errors.New(text)
	}
	if !u.Query().Has("connect_timeout") {
		cfg.ConnectTimeout = dialTimeout
	}
	s.use(sqlx.NewDb(stdlib.OpenDB(*cfg), "pgx"), namespace)
	return nil
}
