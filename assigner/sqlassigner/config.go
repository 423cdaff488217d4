package sqlassigner

import "log/slog"

// Config is the same for all assigners of this package. Its zero value is ready to use.
type Config struct {
	// AllowUndurable has numbers handed out although the database may forget commits, and therefore
	// hand them out again: each such setting is logged as a warning instead of refused. For tests
	// and for databases in memory. A read-only database is refused all the same. Leases leaves this
	// to the AllowUndurable of assigner.LeaseConfig.
	AllowUndurable bool
	// TableName returns the name that a table of package schema has in the database, for
	// deployments that renamed it: with strings.ToLower, WORKER_NODE is worker_node, which MySQL on
	// Linux takes for another table. It is called with each name of package schema. Its results are
	// exact, letter case included, also in PostgreSQL. They have 1 to 63 letters, digits and
	// underscores, no digit first, and differ from each other not only in case. All processes use
	// the same, and Apply does. Nil: the names of package schema, in PostgreSQL in lower case.
	TableName func(name string) string
	// Logger receives a warning for each setting that AllowUndurable lets pass, and a record
	// at debug level for each attempt that is repeated. Nil: discard.
	Logger *slog.Logger
}

func (c Config) logger() *slog.Logger {
	if c.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Logger
}
