package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/together"
)

// fill adds rows 1 to n to the namespace of the cases. Of every ten, held are held and the others
// free.
func fill(t *testing.T, b Database, db *sqlx.DB, n, held int) {
	t.Helper()
	Assign(t, leased(db)) // the meta row, and worker 0
	const insert = "INSERT INTO WORKER_LEASE (NAMESPACE, WORKER_ID, VERSION, FENCE, TOKEN, OWNER, HOLDER, SERVER_ID, EXPIRES_AT, SWAPS) " +
		"SELECT '" + namespace + "', N + 1, 1, 1, '%s', 'pid 4711', 'pid 4711', (SELECT SERVER_ID FROM WORKER_LEASE_META), '%d-01-01 00:00:00', 1 FROM "
	numbers := fmt.Sprintf(b.Numbers, n-1)
	Exec(t, db, fmt.Sprintf(insert, "TOKEN", 2099)+numbers+fmt.Sprintf(" WHERE N %% 10 < %d", held),
		fmt.Sprintf(insert, "", 2026)+numbers+fmt.Sprintf(" WHERE N %% 10 >= %d", held),
		fmt.Sprintf("UPDATE WORKER_LEASE_META SET NEXT_WORKER_ID = %d", n+1))
}

// boundedClaims: a claim reads as many rows of a large namespace as of a small one.
func boundedClaims(t *testing.T, b Database) {
	const n, most = 20_000, 1_000
	for name, held := range map[string]int{"Held": 10, "Mixed": 5} {
		t.Run(name, func(t *testing.T) {
			db, _ := b.Applied(t)
			db.SetMaxOpenConns(1) // for Reads
			fill(t, b, db, n, held)
			Exec(t, db, b.Analyze)
			checkPlan(t, b, db)
			if b.Reads == nil {
				return
			}
			for range 3 {
				before := b.Reads(t, db)
				l := Assign(t, leased(db))
				if read := b.Reads(t, db) - before; read > most {
					t.Errorf("a claim in a namespace of %d rows has read %d rows, want %d at most", n, read, most)
				}
				if w := l.Grant().WorkerID; (w > n) != (held == 10) {
					t.Errorf("worker %d, want a new one only where all are held", w)
				}
			}
		})
	}
}

// checkPlan asks for the plan of the query of Expired.
func checkPlan(t *testing.T, b Database, db *sqlx.DB) {
	t.Helper()
	rows, err := db.QueryxContext(t.Context(), b.Explain+" SELECT WORKER_ID, FENCE FROM WORKER_LEASE "+
		"WHERE NAMESPACE = '"+namespace+"' AND EXPIRES_AT <= "+b.Now+" ORDER BY EXPIRES_AT LIMIT 256")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		columns, err := rows.SliceScan()
		if err != nil {
			t.Fatal(err)
		}
		for _, column := range columns {
			if text, ok := column.([]byte); ok {
				column = string(text)
			}
			fmt.Fprintf(&plan, "%v ", column)
		}
	}
	text := strings.ToUpper(plan.String())
	if !strings.Contains(text, "WORKER_LEASE_EXPIRY") || strings.Contains(text, "SORT") || strings.Contains(text, "TEMP B-TREE") {
		t.Errorf("plan %q, want the index WORKER_LEASE_EXPIRY in its order", text)
	}
}

// LoadStarts has n processes take their first worker ID in a new namespace at once, and reports how
// long that takes. Twenty of them share a handle.
func LoadStarts(t *testing.T, b Database, n int) {
	for name, kind := range map[string]func(leasestore.Store, assigner.LeaseConfig) assigner.Assigner{
		"Leased": assigner.Leased, "Auto": assigner.Auto,
	} {
		t.Run(name, func(t *testing.T) {
			_, dsn := b.Applied(t)
			var handle *sqlx.DB
			starters := make([]assigner.Assigner, n)
			for i := range starters {
				if i%20 == 0 {
					handle = b.Open(t, dsn)
					handle.SetMaxIdleConns(20) // as many processes have
				}
				starters[i] = kind(LeaseStore(handle), assigner.LeaseConfig{})
			}
			workers, took := make([]int64, n), make([]time.Duration, n)
			var failed atomic.Int64
			together.Run(n, func(i int) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // cached.Config.AssignTimeout
				defer cancel()
				begin := time.Now()
				l, err := starters[i].Assign(ctx, assignertest.Domain())
				took[i] = time.Since(begin)
				if err != nil {
					workers[i] = -1 - int64(i)
					if failed.Add(1) == 1 {
						t.Logf("the first error: %v", err)
					}
					return
				}
				workers[i] = l.Grant().WorkerID
			})
			slices.Sort(took)
			t.Logf("%d starts: half within %v, 99 %% within %v, all within %v", n, took[n/2].Round(time.Millisecond),
				took[n*99/100].Round(time.Millisecond), took[n-1].Round(time.Millisecond))
			if failed.Load() > 0 {
				t.Errorf("%d of %d starts failed", failed.Load(), n)
			}
			slices.Sort(workers)
			if different := len(slices.Compact(workers)); different != n {
				t.Errorf("%d different workers, want %d", different, n)
			}
		})
	}
}
