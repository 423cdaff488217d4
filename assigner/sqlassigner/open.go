package sqlassigner

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"
)

const (
	dialTimeout = 5 * time.Second
	ioTimeout   = 10 * time.Second
)

// OpenMySQL returns a handle for a DSN of go-sql-driver/mysql,
//
//	user:password@tcp(host:3306)/database?param=value
//
// with defaults that suit this package: parseTime=true, loc=UTC, timeout=5s, readTimeout=10s,
// writeTimeout=10s, rejectReadOnly=true and, unless the DSN names a charset or collation,
// interpolateParams=true. A value in the DSN wins; the driver documents tls and all other
// parameters. OpenMySQL does not connect yet. The caller closes the handle. Errors never contain
// the password.
func OpenMySQL(dsn string) (*sqlx.DB, error) {
	cfg, err := mysqlConfig(dsn)
	if err != nil {
		return nil, err
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("sqlassigner: DSN: %w", harmless(err))
	}
	return sqlx.NewDb(sql.OpenDB(connector), "mysql"), nil
}

func mysqlConfig(dsn string) (*mysql.Config, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("sqlassigner: DSN: %w; its form is user:password@tcp(host:3306)/database?param=value",
			harmless(err))
	}
	if cfg.DBName == "" {
		return nil, errors.New("sqlassigner: DSN names no database; its form is user:password@tcp(host:3306)/database?param=value")
	}
	setDefaults(cfg, dsnParams(dsn))
	return cfg, nil
}

// setDefaults sets the parameters that are missing from the DSN.
func setDefaults(cfg *mysql.Config, given url.Values) {
	flag := func(name string, value *bool) {
		if !given.Has(name) {
			*value = true
		}
	}
	duration := func(name string, value *time.Duration, or time.Duration) {
		if !given.Has(name) {
			*value = or
		}
	}
	flag("parseTime", &cfg.ParseTime)
	flag("rejectReadOnly", &cfg.RejectReadOnly)
	if !given.Has("charset") && !given.Has("collation") { // some of them make interpolation unsafe
		flag("interpolateParams", &cfg.InterpolateParams)
	}
	duration("timeout", &cfg.Timeout, dialTimeout)
	duration("readTimeout", &cfg.ReadTimeout, ioTimeout)
	duration("writeTimeout", &cfg.WriteTimeout, ioTimeout)
	// The driver prints the cause of a lost connection to stderr; the error that it returns is
	// enough.
	cfg.Logger = &mysql.NopLogger{}
}

// dsnParams returns the parameters of a DSN that the driver has accepted: they follow the last
// slash.
func dsnParams(dsn string) url.Values {
	_, query, _ := strings.Cut(dsn[strings.LastIndex(dsn, "/")+1:], "?")
	params := url.Values{}
	for param := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(param, "=")
		params.Add(name, value)
	}
	return params
}

// harmless returns a driver's error about a DSN if its text is fixed. Other texts quote a
// parameter, which may be part of an unescaped password.
func harmless(err error) error {
	if strings.HasPrefix(err.Error(), "invalid DSN: ") {
		return err
	}
	return errors.New("the driver rejects the address or the value of a parameter (not shown, since it " +
		"may hold a piece of the password)")
}
