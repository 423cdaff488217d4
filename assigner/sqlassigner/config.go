package sqlassigner

import "log/slog"

// Config is the same for all assigners of this package. Its zero value is ready to use.
type Config struct {
	// AllowUndurable has numbers handed out although the database may forget commits, and
	// therefore hand them out again: each such setting is logged as a warning instead of refused.
	// For tests and for databases in memory. A read-only database is refused all the same. Leases leaves
	// this to the AllowUndurable of assigner.LeaseConfig.
	AllowUndurable bool
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
