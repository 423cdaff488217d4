package sqlassigner_test

import (
	"fmt"
	"log"
	"os"

	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
)

// The first start creates the tables.
func ExampleLeased() {
	db, err := sqlassigner.OpenMySQL(os.Getenv("IDS_DSN")) // such as ids:secret@tcp(db.example.org:3306)/ids
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	ids, err := cached.New(cached.Config{Assigner: sqlassigner.Leased(db, "orders"), Layout: bitsalloc.Recommended()})
	if err != nil {
		log.Fatal(err)
	}
	defer ids.Close()
	fmt.Println(ids.Next())
}
