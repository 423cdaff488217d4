package sql_test

import (
	"errors"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/cached"
)

// TestRefusedGeneratorDoesNotCostTheHolderItsKey: neither a second generator of the process nor one
// that refuses such a worker ID may take the row of a live one, or free it.
func TestRefusedGeneratorDoesNotCostTheHolderItsKey(t *testing.T) {
	db := open(t, durable("file:"+t.TempDir()+"/ids.db"))
	if err := sqlassigner.Apply(t.Context(), db, sqlassigner.Config{}); err != nil {
		t.Fatal(err)
	}
	key := sqlassigner.Sticky(db, "orders-1", sqlassigner.Config{})
	holder, err := cached.New(cached.Config{Assigner: key, AllowReuse: true})
	if err != nil {
		t.Fatal(err)
	}
	token := func() (text string) {
		if err := db.Get(&text, "SELECT TOKEN FROM WORKER_STICKY"); err != nil {
			t.Fatal(err)
		}
		return text
	}
	held := token()
	if held == "" {
		t.Fatal("the row of a live generator has no token")
	}
	for name, row := range map[string]struct {
		cfg  cached.Config
		want error
	}{
		"a second one on the assigner": {cached.Config{Assigner: key, AllowReuse: true}, assigner.ErrWorkerInUse},
		"one that refuses reuse":       {cached.Config{Assigner: sqlassigner.Sticky(db, "orders-1", sqlassigner.Config{})}, assigner.ErrUnfencedReuse},
	} {
		if _, err := cached.New(row.cfg); !errors.Is(err, row.want) {
			t.Errorf("%s: New = %v, want %v", name, err, row.want)
		}
		if got := token(); got != held {
			t.Errorf("%s: the row has token %q, want the holder's %q", name, got, held)
		}
	}
	if err := holder.Close(); err != nil {
		t.Fatal(err)
	}
	if got := token(); got != held {
		t.Errorf("after Close the row has token %q, want it as it was, %q", got, held)
	}
}
