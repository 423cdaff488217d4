package sqlassigner

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
)

// Leased returns an assigner that leases the worker IDs of a namespace from a database. It is the
// short way to [assigner.Leased] with [LeaseStore] and the zero assigner.LeaseConfig; use these for
// other settings.
//
//	numbers := sqlassigner.Leased(db, "orders")
//	numbers := sqlassigner.Leased(sqlassigner.Wrap(sqlDB, sqlassigner.PostgreSQL), "orders") // for an *sql.DB
//
// A namespace has 1 to 64 characters: letters, digits, dot, underscore and hyphen. Services whose
// IDs meet in one table or message use the same namespace.
//
// If a table is missing, Assign creates the tables of leases, like [Apply], unless it has succeeded
// before: a table that vanishes later stays missing, since its fences are lost. Without the right
// to create tables, Assign returns [ErrAccessDenied] and names the command that prints the SQL.
// Leased logs created tables and warnings to slog.Default.
//
// Any number of goroutines may use the assigner at once.
func Leased(db *sqlx.DB, namespace string) assigner.Assigner {
	return &leased{Assigner: assigner.Leased(LeaseStore(db, namespace, Config{}), assigner.LeaseConfig{}), db: db}
}

// leased creates missing tables before its first lease.
type leased struct {
	assigner.Assigner
	db    *sqlx.DB
	begun atomic.Bool // an Assign has succeeded
}

func (a *leased) Assign(ctx context.Context, d assigner.Domain) (assigner.Lease, error) {
	lease, err := a.Assigner.Assign(ctx, d)
	if errors.Is(err, ErrTableMissing) && !a.begun.Load() {
		if _, err := Apply(ctx, a.db, Config{}); err != nil {
			return nil, err
		}
		lease, err = a.Assigner.Assign(ctx, d)
	}
	if err == nil {
		a.begun.Store(true)
	}
	return lease, err
}
