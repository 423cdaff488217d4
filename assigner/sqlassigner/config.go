package sqlassigner

import "log/slog"

// Config is the same for all assigners of this package. Its zero value is ready to use.
type Config struct {
	// AllowUndurable accepts a database whose settings let it forget commits, which may then give
	// out a worker ID twice. Each such setting is logged as a warning. Use it for tests and for
	// databases in memory. A read-only database is rejected all the same. Disposable and Sticky use
	// it; leases use the AllowUndurable of assigner.LeaseConfig instead.
	AllowUndurable bool
	// LowerCase uses the names of package schema in lower case, such as worker_node, for tables of
	// Java services that have these names. All processes, and Apply, must agree. It matters to
	// MySQL and MariaDB, where the server may distinguish letter case; PostgreSQL has lower case
	// anyway.
	LowerCase bool
	// Logger receives a warning for each setting that AllowUndurable lets pass, and a record at
	// debug level for each retry. Nil: none are logged.
	Logger *slog.Logger
}
