package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
)

// withServer returns a case for a database whose server the test may kill.
func withServer(run func(t *testing.T, b Database, db *sqlx.DB, dsn string)) func(*testing.T, Database) {
	return func(t *testing.T, b Database) {
		if b.Kill == nil {
			t.Skip("the database has no server, or a shared one")
		}
		db, dsn := b.Applied(t)
		run(t, b, db, dsn)
	}
}

// killBetween kills the server between assignments. No worker ID is given out twice.
func killBetween(t *testing.T, b Database, db *sqlx.DB, _ string) {
	seen := make(map[int64]bool)
	first := Assign(t, disposable(db))
	seen[first.Grant().WorkerID] = true
	for range 2 {
		b.Kill(t)
		for range 3 {
			w := Assign(t, disposable(db)).Grant().WorkerID
			if seen[w] {
				t.Errorf("worker %d was given out twice", w)
			}
			seen[w] = true
		}
	}
	Renew(t, first)
}

// outlive renews leases without a fence while the server is away, and has an assignment wait for
// it.
func outlive(t *testing.T, b Database, db *sqlx.DB, dsn string) {
	leases := []assigner.Lease{Assign(t, disposable(db)), Assign(t, sticky(db))}
	var up func()
	ComesBack(t, db, func() { up = b.Down(t, dsn) }, func() {
		for _, l := range leases {
			before := l.Grant()
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			err := l.Renew(ctx, 1, 1)
			cancel()
			if !errors.Is(err, sqlassigner.ErrUnreachable) || errors.Is(err, assigner.ErrWorkerRowLost) || l.Grant() != before {
				t.Errorf("Renew: %v, grant %+v; want ErrUnreachable and %+v", err, l.Grant(), before)
			}
		}
		up()
	})
	for _, l := range leases {
		Renew(t, l)
	}
}
