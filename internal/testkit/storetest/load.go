package storetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"
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
