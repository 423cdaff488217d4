package recipes

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	_ "modernc.org/sqlite"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/uidringtest"
)

// A Parcel is a model of bun. A bun.Query has no place for a generator, so the context carries it.
type Parcel struct {
	ID       uidring.ID  `bun:",pk,type:bigint"` // SQLite would count an integer
	Contains *uidring.ID // may be NULL
}

type idsKey struct{}

// BeforeAppendModel gives a new row an ID.
func (p *Parcel) BeforeAppendModel(ctx context.Context, query bun.Query) error {
	if _, ok := query.(*bun.InsertQuery); !ok || p.ID != 0 {
		return nil
	}
	next, ok := ctx.Value(idsKey{}).(func(context.Context) (int64, error))
	if !ok {
		return errors.New("no generator in the context")
	}
	id, err := next(ctx)
	p.ID = uidring.ID(id)
	return err
}

var _ bun.BeforeAppendModelHook = (*Parcel)(nil)

func TestBun(t *testing.T) {
	plain, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "bun.db"))
	testkit.Must(t, err)
	db := bun.NewDB(plain, sqlitedialect.New())
	defer db.Close()
	ctx := context.WithValue(t.Context(), idsKey{}, uidringtest.New(1000, 1).NextContext)
	_, err = db.NewCreateTable().Model((*Parcel)(nil)).Exec(ctx)
	testkit.Must(t, err)
	insert := func(ctx context.Context, rows any) error {
		_, err := db.NewInsert().Model(rows).Exec(ctx)
		return err
	}
	first := Parcel{}
	testkit.Must(t, insert(ctx, &first))
	testkit.Must(t, insert(ctx, &[]*Parcel{{Contains: &first.ID}, {}}))
	if insert(t.Context(), new(Parcel)) == nil {
		t.Error("a row was inserted without a generator")
	}
	if _, err := db.ExecContext(ctx, "INSERT INTO parcels (contains) VALUES (NULL)"); err == nil {
		t.Error("the database gave an ID to a row without one")
	}
	var read []Parcel
	testkit.Must(t, db.NewSelect().Model(&read).Order("id").Scan(ctx))
	var ids []uidring.ID
	for _, p := range read {
		ids = append(ids, p.ID)
	}
	if !slices.Equal(ids, []uidring.ID{1000, 1001, 1002}) || read[0].Contains != nil || read[1].Contains == nil || *read[1].Contains != 1000 {
		t.Errorf("rows %+v", read)
	}
}
