package sqlassigner_test

import (
	"context"
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/internal/test/storetest"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

var starts = flag.Int("starts", 0, "have so many processes start at once in a new namespace; 1000 is the goal")

// Twenty processes share a handle. The slowest start must end within cached.Config.AssignTimeout.
func TestLoadStartsMariaDB(t *testing.T) {
	n := *starts
	if n == 0 {
		t.Skip("without -starts")
	}
	b := mariaDB(testserver.MariaDB(t, "--max-connections=4000"))
	_, dsn := b.Applied(t)
	handles := make([]*sqlx.DB, n/20+1)
	for i := range handles {
		handles[i] = b.Open(t, dsn)
		handles[i].SetMaxIdleConns(20) // as many processes have
	}
	workers, took := make([]int64, n), make([]time.Duration, n)
	testkit.Together(n, func(i int) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		begin := time.Now()
		l, err := assigner.Leased(storetest.LeaseStore(handles[i/20]), assigner.LeaseConfig{}).Assign(ctx, assignertest.Domain())
		if took[i] = time.Since(begin); err != nil {
			t.Error(err)
			return
		}
		workers[i] = l.Grant().WorkerID
	})
	slices.Sort(took)
	slices.Sort(workers)
	t.Logf("%d starts: half within %v, 99 %% within %v, all within %v", n, took[n/2], took[n*99/100], took[n-1])
	if different := len(slices.Compact(workers)); different != n {
		t.Errorf("%d different workers, want %d", different, n)
	}
}
