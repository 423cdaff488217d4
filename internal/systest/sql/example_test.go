package sql_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/jmoiron/sqlx"
	_ "modernc.org/sqlite"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/bitsalloc"
)

// A database file is enough to give each start of a process on one host a worker ID of its own.
func Example() {
	dir, err := os.MkdirTemp(".", "worker") // a temporary folder may be in memory
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	// SQLite's default, FULL, may lose the last commit when the power fails.
	db, err := sqlx.Open("sqlite", filepath.Join(dir, "worker.db")+"?_pragma=synchronous(EXTRA)")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	ctx := context.Background()
	if err := sqlassigner.Apply(ctx, db, sqlassigner.Config{}); err != nil {
		log.Fatal(err)
	}
	numbers := sqlassigner.Disposable(db, sqlassigner.Config{})
	for range 3 { // a generator does this when it starts
		lease, err := numbers.Assign(ctx, assigner.Domain{Layout: bitsalloc.Default(), Epoch: bitsalloc.DefaultEpoch()})
		if err != nil {
			log.Fatal(err)
		}
		grant := lease.Grant()
		fmt.Println("worker", grant.WorkerID, grant.Guarantee)
	}
	// Output:
	// worker 1 fresh
	// worker 2 fresh
	// worker 3 fresh
}
