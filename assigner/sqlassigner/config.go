package sqlassigner

import "log/slog"

// Config is the same for all assigners of this package. Its zero value is ready to use.
type Config struct {
	// AllowUndurable accepts a database whose settings let it forget commits, which may then give
	// out a worker ID twice. Each such setting is logged as a warning. Use it for tests and for
	// databases in memory. A read-only database is rejected all the same. Disposable and Sticky use
	// it; leases use the AllowUndurable of assigner.LeaseConfig instead.
	AllowUndurable bool
	// TableName maps each table name of package schema to its name in the database, for deployments
	// with other names: with strings.ToLower, WORKER_NODE becomes worker_node. Results are used
	// exactly, including letter case, also in PostgreSQL. A result has 1 to 63 letters, digits and
	// underscores and does not start with a digit; two results must not differ only in letter case.
	// All processes, and Apply, must use the same mapping. Nil: the names of package schema, in
	// PostgreSQL in lower case.
	TableName func(name string) string
	// Logger receives a warning for each setting that AllowUndurable lets pass, and a record at
	// debug level for each retry. Nil: none are logged.
	Logger *slog.Logger
}

func (c Config) logger() *slog.Logger {
	if c.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Logger
}
