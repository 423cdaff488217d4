package sqlassigner

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"
)

// mysqlForms are the texts that ParseMySQL accepts, for errors.
const mysqlForms = "allowed: user:password@tcp(host:3306)/database?param=value, " +
	"mysql://user:password@host:3306/database?param=value"

// OpenMySQL returns a handle for a DSN of go-sql-driver/mysql, or for a URL with its parameters:
//
//	user:password@tcp(host:3306)/database?param=value
//	mysql://user:password@host:3306/database?param=value
//
// It sets defaults that suit this package, see [ParseMySQL]. It does not connect yet. The caller
// closes the handle. Errors never contain the password.
func OpenMySQL(dsn string) (*sqlx.DB, error) {
	cfg, err := ParseMySQL(dsn)
	if err != nil {
		return nil, err
	}
	return OpenMySQLConfig(cfg)
}

// OpenMySQLConfig returns a handle for a Config of the driver. Take the Config from [ParseMySQL],
// and set the fields that a text cannot hold: TLS, DialFunc, or, by [mysql.BeforeConnect], a
// password that changes. OpenMySQLConfig copies cfg and changes no setting. It does not connect
// yet. The caller closes the handle. Errors never contain the password.
func OpenMySQLConfig(cfg *mysql.Config) (*sqlx.DB, error) {
	if cfg == nil || cfg.DBName == "" {
		return nil, errors.New("sqlassigner: Config names no database, allowed: the database of the tables in DBName")
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("sqlassigner: Config: %w", harmless(err))
	}
	return sqlx.NewDb(sql.OpenDB(connector), "mysql"), nil
}

// ParseMySQL reads a DSN or URL as [OpenMySQL] does. A URL has its user name, password and database
// escaped, as in url.URL. ParseMySQL sets parseTime=true, loc=UTC, timeout=5s, readTimeout=10s,
// writeTimeout=10s, rejectReadOnly=true and, unless the text names a charset or collation,
// interpolateParams=true. A parameter in the text wins; the driver documents tls and all other
// parameters. Errors never contain the password.
func ParseMySQL(dsn string) (*mysql.Config, error) {
	form, user := "DSN", (*url.Userinfo)(nil)
	if strings.HasPrefix(dsn, "mysql://") {
		form = "URL"
		var err error
		if dsn, user, err = splitURL(dsn); err != nil {
			return nil, fmt.Errorf("sqlassigner: URL: %w, %s", err, mysqlForms)
		}
	}
	cfg, err := mysql.ParseDSN(withDefaults(dsn))
	if err != nil {
		return nil, fmt.Errorf("sqlassigner: %s: %w, %s", form, harmless(err), mysqlForms)
	}
	if cfg.DBName == "" {
		return nil, fmt.Errorf("sqlassigner: %s names no database, %s", form, mysqlForms)
	}
	if form == "URL" {
		cfg.User = user.Username()
		cfg.Passwd, _ = user.Password()
	}
	// The driver prints the cause of a lost connection to stderr; the error that it returns is
	// enough.
	cfg.Logger = &mysql.NopLogger{}
	return cfg, nil
}

// splitURL returns the DSN of a URL without its user, and the user. A second @ shows that the
// password has characters that are not escaped.
func splitURL(text string) (dsn string, user *url.Userinfo, err error) {
	const hidden = "(it is not shown, since it may hold a password); escape user name and password, / ? # @ as %2F %3F %23 %40"
	u, err := url.Parse(text)
	if err != nil {
		return "", nil, errors.New("it cannot be read " + hidden)
	}
	database := strings.TrimPrefix(u.Path, "/")
	switch {
	case u.Fragment != "" || strings.Contains(u.EscapedPath()+u.RawQuery, "@"):
		return "", nil, errors.New("it has an @ or # after the host " + hidden)
	case u.Hostname() == "":
		return "", nil, errors.New("no host")
	}
	address := net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "3306"))
	// The driver looks for the database after the last slash.
	return "tcp(" + address + ")/" + url.PathEscape(database) + "?" + strings.ReplaceAll(u.RawQuery, "/", "%2F"), u.User, nil
}

// withDefaults puts the default parameters before the parameters of a DSN: the driver uses the last
// value of a name. Parameters follow the last slash.
func withDefaults(dsn string) string {
	slash := strings.LastIndex(dsn, "/") + 1
	database, params, _ := strings.Cut(dsn[slash:], "?")
	defaults := "?parseTime=true&timeout=5s&readTimeout=10s&writeTimeout=10s&rejectReadOnly=true&"
	if !strings.Contains(params, "charset=") && !strings.Contains(params, "collation=") { // some of them make interpolation unsafe
		defaults += "interpolateParams=true&"
	}
	if slash == 0 {
		return dsn // which the driver rejects
	}
	return dsn[:slash] + database + defaults + params
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

// A Dialect names a kind of database for [Wrap].
type Dialect string

// The databases of this package. MySQL includes MariaDB.
const (
	MySQL      Dialect = "mysql"
	PostgreSQL Dialect = "postgres"
	SQLite     Dialect = "sqlite"
)

// Wrap returns a handle of database/sql in the form that this package takes. The name of its driver
// does not matter. Both handles share their connections, and closing either closes both. gorm
// returns such a handle from DB.DB, bun has it in the field DB, and ent takes the caller's in
// OpenDB. With another Dialect than the three constants, all calls return [ErrUnknownDriver].
//
// A password that rotates belongs into the driver's connector, which sets it for each new
// connection: mysql.BeforeConnect of go-sql-driver/mysql, stdlib.OptionBeforeConnect of pgx.
func Wrap(db *sql.DB, d Dialect) *sqlx.DB {
	if db == nil {
		return nil
	}
	return sqlx.NewDb(db, string(d))
}
