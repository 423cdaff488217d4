package sql_test

import (
	"fmt"
	"log"
	"net/url"
	"os"
	"path/filepath"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
)

// SQLite needs the import of a driver, here modernc.org/sqlite, and a DSN that makes commits
// durable.
func Example_leasedSQLite() {
	dir, err := os.MkdirTemp("", "uidring")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := url.URL{Scheme: "file", Path: filepath.Join(dir, "ids.db"), RawQuery: "_pragma=busy_timeout(5000)&_pragma=synchronous(EXTRA)"}
	db, err := sqlx.Open("sqlite", file.String())
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	ids, err := cached.New(cached.Config{Assigner: sqlassigner.Leased(db, "orders"), Layout: bitsalloc.Recommended()})
	if err != nil {
		log.Fatal(err)
	}
	defer ids.Close()
	first, err := ids.Next()
	fmt.Println(first > 0, err)
	// Output: true <nil>
}
