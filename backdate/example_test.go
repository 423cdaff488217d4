package backdate_test

import (
	"context"
	"fmt"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/backdate"
	"github.com/uidring/uidring/bitsalloc"
)

// IDs for events that were reported late, from the namespace of the service that stores them.
func ExampleNew() {
	db, err := sqlassigner.OpenMySQL("ids:secret@tcp(db:3306)/ids")
	if err != nil {
		fmt.Println(err)
		return
	}
	store := sqlassigner.LeaseStore(db, "events", sqlassigner.Config{})
	ids, err := backdate.New(context.Background(), backdate.Config{
		Layout:   bitsalloc.Recommended(),
		Assigner: assigner.Auto(store, assigner.LeaseConfig{}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ids.At(time.Now().Add(-72 * time.Hour)))
}
