package storetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/testkit"
)

// Statements checks how many statements a start, a renewal and a close cost. asked returns how many
// the server has counted. db has its tables; a second handle has no connection left over from call
// to call.
func Statements(t *testing.T, db, coming *sqlx.DB, asked func() int) {
	coming.SetMaxIdleConns(-1)
	for _, tt := range []struct {
		name        string
		db          *sqlx.DB
		start, most int // the most for a renewal, and for a close
	}{
		{"the pool keeps its connections", db, 14, 4},
		{"connections come and go", coming, 20, 8},
	} {
		asked := func(f func()) int {
			before := asked()
			f()
			return asked() - before
		}
		var l assigner.Lease
		for try := range 3 { // the first start makes the namespace, and the next ones find a worker ID
			start := asked(func() { l = Assign(t, Leased(tt.db)) })
			renewal := asked(func() { Renew(t, l) })
			end := asked(func() { testkit.Must(t, l.End(t.Context(), assigner.Ending{Released: true, Used: l.Grant().First})) })
			t.Logf("%s: start %d, renewal %d, close %d", tt.name, start, renewal, end)
			if try > 0 && (start > tt.start || renewal > tt.most || end > tt.most) {
				t.Errorf("%s: allowed for a start %d, for a renewal and a close %d", tt.name, tt.start, tt.most)
			}
		}
	}
}

// A Break is a change after which the database may forget a renewal, and the text of the error.
type Break struct {
	Do, Undo string
	Here     bool // on the connection of the lease
	Says     string
}

// BrokenBetweenRenewals checks that a renewal notices each change, and that the next one after its
// end succeeds.
func BrokenBetweenRenewals(t *testing.T, admin, db *sqlx.DB, breaks []Break) {
	db.SetMaxOpenConns(1)
	l := Assign(t, Leased(db))
	for _, b := range breaks {
		at := admin
		if b.Here {
			at = db
		}
		Exec(t, at, strings.Split(b.Do, "; ")...)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond) // some are waited for
		err := Extend(ctx, l, 1, 1)
		cancel()
		if !errors.Is(err, leasestore.ErrNotDurable) || !strings.Contains(err.Error(), b.Says) {
			t.Errorf("renewal after %s: %v; want %v with %q", b.Do, err, leasestore.ErrNotDurable, b.Says)
		}
		Exec(t, at, strings.Split(b.Undo, "; ")...)
		Renew(t, l)
	}
}
