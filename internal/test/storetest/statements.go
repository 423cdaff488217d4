package storetest

import (
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
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
