package frameworks

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	_ "modernc.org/sqlite"

	"frameworks/ent"
	"frameworks/ent/schema"

	"github.com/uidring/uidring/uidringtest"
)

func TestEnt(t *testing.T) {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "ent.db")+"?_pragma=foreign_keys(1)")
	if err != nil {
		t.Fatal(err)
	}
	client := ent.NewClient(ent.Driver(entsql.OpenDB(dialect.SQLite, db)))
	defer client.Close()
	if err := client.Schema.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	ids := uidringtest.New(1000, 1)
	client.Use(schema.AssignIDs(ids.NextIDContext))
	first, err := client.Order.Create().Save(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	several, err := client.Order.CreateBulk(client.Order.Create().SetReplaces(first.ID), client.Order.Create().SetID(7)).Save(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if first.ID != 1000 || several[0].ID != 1001 || several[1].ID != 7 {
		t.Errorf("IDs %d, %d, %d, want 1000, 1001 and 7", first.ID, several[0].ID, several[1].ID)
	}
	read, err := client.Order.Get(t.Context(), 1001)
	if err != nil || *read.Replaces != 1000 {
		t.Errorf("%v, %v, want an order that replaces 1000", read, err)
	}
	if err := read.Update().ClearReplaces().Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	if read, err = client.Order.Get(t.Context(), 1001); err != nil || read.Replaces != nil {
		t.Errorf("%v, %v, want an order that replaces none", read, err)
	}
	ids.Break(uidringtest.ErrExhausted)
	if _, err := client.Order.Create().Save(t.Context()); !errors.Is(err, uidringtest.ErrExhausted) {
		t.Errorf("without an ID: %v, want ErrExhausted", err)
	}
}
