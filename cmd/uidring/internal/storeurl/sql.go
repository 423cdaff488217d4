package storeurl

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/sqlassigner"
)

// dialTimeout is the time limit for a new connection, unless the URL has another.
const dialTimeout = 5 * time.Second

// use sets the database handle of the store. Close closes the handle.
func (s *Store) use(db *sqlx.DB, namespace string) {
	s.Store = sqlassigner.LeaseStore(db, namespace, sqlassigner.Config{})
	s.create = func(ctx context.Context) error { return sqlassigner.Apply(ctx, db, sqlassigner.Config{}) }
	s.close = db.Close
}

func openMySQL(s *Store, u *url.URL, namespace string) error {
	dsn, err := mysqlDSN(u)
	if err != nil {
		return err
	}
	db, err := sqlassigner.OpenMySQL(dsn)
	if err != nil {
		return err
	}
	s.use(db, namespace)
	return nil
}

// mysqlDSN converts a URL to a DSN of the driver. The driver reads user and password unescaped, and
// a colon ends the user name.
func mysqlDSN(u *url.URL) (string, error) {
	user, database := u.User.Username(), strings.TrimPrefix(u.Path, "/")
	switch {
	case strings.Contains(user, ":"):
		return "", errors.New("user name has a colon, allowed with MySQL: none")
	case database == "":
		return "", errors.New("no database, allowed: mysql://user:password@host:3306/database")
	}
	if password, ok := u.User.Password(); ok {
		user += ":" + password
	}
	params := u.Query()
	config, err := tlsConfig(params)
	if err != nil {
		return "", err
	}
	if config != nil {
		if given := params.Get("tls"); given != "" && given != "true" {
			return "", fmt.Errorf("tls=%q with ca, cert or key, allowed: true", given)
		}
		name := "uidring-" + rand.Text() // a DSN cannot name files
		if err := mysql.RegisterTLSConfig(name, config); err != nil {
			return "", err
		}
		params.Set("tls", name)
	}
	host := net.JoinHostPort(u.Hostname(), orPort(u, "3306"))
	return user + "@tcp(" + host + ")/" + url.PathEscape(database) + "?" + params.Encode(), nil
}

func orPort(u *url.URL, port string) string {
	if u.Port() != "" {
		return u.Port()
	}
	return port
}

func openPostgres(s *Store, u *url.URL, namespace string) error {
	for param := range u.Query() {
		if strings.Contains(strings.ToLower(param), "password") {
			return fmt.Errorf("parameter %s, allowed: the password before the @", param)
		}
	}
	if strings.TrimPrefix(u.Path, "/") == "" {
		return errors.New("no database, allowed: postgres://user:password@host:5432/database")
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
