package sqlassigner_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/schema"
	"github.com/uidring/uidring/segment"
)

// The first start creates the tables.
func ExampleLeased() {
	db, err := sqlassigner.OpenMySQL("ids:secret@tcp(db.example.org:3306)/ids")
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

// PostgreSQL needs the import of a driver:
//
//	import _ "github.com/jackc/pgx/v5/stdlib"
func ExampleLeased_postgreSQL() {
	db, err := sqlx.Open("pgx", "postgres://ids:secret@db.example.org:5432/ids")
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

// A generator calls Assign and Renew itself; give the assigner to its Config.
func ExampleDisposable() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	db, err := sqlassigner.OpenMySQL("ids:secret@tcp(db.example.org:3306)/ids")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if _, err := sqlassigner.Apply(ctx, db, sqlassigner.Config{}, schema.Nodes); err != nil {
		log.Fatal(err)
	}

	numbers := sqlassigner.Disposable(db, sqlassigner.Config{Logger: slog.Default()})
	lease, err := numbers.Assign(ctx, assigner.Domain{Layout: bitsalloc.Default(), Epoch: bitsalloc.DefaultEpoch()})
	switch {
	case errors.Is(err, assigner.ErrWorkersExhausted):
		log.Fatal("every worker ID has been used: ", err)
	case errors.Is(err, sqlassigner.ErrTableMissing):
		log.Fatal("the tables have not been created: ", err)
	case err != nil:
		log.Fatal(err)
	}
	fmt.Println(lease.Grant().WorkerID)
}

// A configured key is best, such as the name of a pod of a StatefulSet.
func ExampleSticky() {
	db, err := sqlassigner.OpenMySQL("ids:secret@tcp(db.example.org:3306)/ids?tls=true")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	numbers := sqlassigner.Sticky(db, "orders-0", sqlassigner.Config{})
	_ = numbers // give it to the Config of a generator
}

// A worker ID that its holder has released, or has not renewed in time, goes to the next holder.
// Give the assigner to the Config of a generator.
func ExampleLeaseStore() {
	db, err := sqlassigner.OpenMySQL("ids:secret@tcp(db.example.org:3306)/ids")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	store := sqlassigner.LeaseStore(db, "orders", sqlassigner.Config{})
	numbers := assigner.Leased(store, assigner.LeaseConfig{Window: time.Minute})
	_ = numbers // bridges a minute without the database
}

// Order numbers from a counter in the table ID_SEGMENT, which Apply creates with schema.Segments.
func ExampleSegmentSource() {
	db, err := sqlassigner.OpenMySQL("ids:secret@tcp(db.example.org:3306)/ids")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	orders, err := segment.New(segment.Config{Name: "orders", Source: sqlassigner.SegmentSource(db, sqlassigner.Config{})})
	if err != nil {
		log.Fatal(err)
	}
	defer orders.Close()
	fmt.Println(orders.Next())
}
