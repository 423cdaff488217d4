package sqlassigner_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/schema"
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
