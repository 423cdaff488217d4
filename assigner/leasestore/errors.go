package leasestore

import "errors"

// Errors about a store. Each is wrapped in a text that names the server, namespace, row or file,
// and the remedy.
var (
	// ErrOverlap: two sources in one database would give out the same worker IDs.
	ErrOverlap = errors.New("leasestore: worker IDs overlap")
	// ErrDamaged: the files of a store are incomplete, missing or from another store, or were
	// moved, replaced or deleted while in use. No lease is taken from the store, since its fences
	// are not known.
	ErrDamaged = errors.New("leasestore: store damaged")
	// ErrNotDurable: the store may forget commits that it has acknowledged, and would then give out
	// a worker ID twice; or it is read-only.
	ErrNotDurable = errors.New("leasestore: store not durable")
	// ErrClockSkew: the clocks of this host and of the store differ by more than
	// LeaseConfig.MaxSkew.
	ErrClockSkew = errors.New("leasestore: clock skew")
	// ErrRowMissing: the row of a lease has vanished, alone or with its namespace. A renewal
	// returns it with ErrWorkerRowLost.
	ErrRowMissing = errors.New("leasestore: worker row missing")
	// ErrFenceRegressed: a restore, or a failover that lost commits, has set the store back to an
	// earlier state. It comes with ErrWorkerRowLost.
	ErrFenceRegressed = errors.New("leasestore: fence regressed")
)
