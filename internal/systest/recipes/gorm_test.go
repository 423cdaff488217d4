package recipes

import (
	"context"
	"reflect"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/testkit/testserver"
	"github.com/uidring/uidring/uidringtest"
)

// An Invoice is a model of GORM. Without autoIncrement:false GORM leaves a zero ID to the database,
// which counts on from the largest one, into the IDs that the generator will issue.
type Invoice struct {
	ID    uidring.ID `gorm:"primaryKey;autoIncrement:false"`
	Payer string
}

// assignIDs has GORM give an ID to each new row whose primary key is a uidring.ID and zero.
func assignIDs(db *gorm.DB, next func(context.Context) (uidring.ID, error)) error {
	return db.Callback().Create().Before("gorm:create").Register("uidring", func(tx *gorm.DB) {
		if tx.Error != nil || tx.Statement.Schema == nil {
			return
		}
		key := tx.Statement.Schema.PrioritizedPrimaryField
		if key == nil || key.FieldType != reflect.TypeFor[uidring.ID]() {
			return
		}
		ctx, rows := tx.Statement.Context, tx.Statement.ReflectValue
		assign := func(row reflect.Value) {
			if _, zero := key.ValueOf(ctx, row); !zero {
				return
			}
			id, err := next(ctx)
			if err == nil {
				err = key.Set(ctx, row, id)
			}
			_ = tx.AddError(err)
		}
		if rows.Kind() == reflect.Struct {
			assign(rows)
			return
		}
		for i := range rows.Len() {
			assign(reflect.Indirect(rows.Index(i)))
		}
	})
}

func TestGORM(t *testing.T) {
	db, err := gorm.Open(mysql.Open(testserver.MariaDB(t).DSN()), &gorm.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.AutoMigrate(&Invoice{}); err != nil {
		t.Fatal(err)
	}
	ids := uidringtest.New(1000, 1)
	if err := assignIDs(db, ids.NextIDContext); err != nil {
		t.Fatal(err)
	}
	one, own := Invoice{Payer: "Ada"}, Invoice{ID: 7, Payer: "Bob"}
	several := []*Invoice{{Payer: "Cid"}, {Payer: "Dot"}}
	for _, rows := range []any{&one, &own, &several} {
		if err := db.Create(rows).Error; err != nil {
			t.Fatal(err)
		}
	}
	var read []Invoice
	if err := db.Order("id").Find(&read).Error; err != nil {
		t.Fatal(err)
	}
	want := []Invoice{{7, "Bob"}, {1000, "Ada"}, {1001, "Cid"}, {1002, "Dot"}}
	if !reflect.DeepEqual(read, want) || one.ID != 1000 || several[1].ID != 1002 {
		t.Errorf("rows %v, want %v", read, want)
	}
	ids.Break(uidringtest.ErrExhausted)
	if err := db.Create(&Invoice{Payer: "Eve"}).Error; err == nil {
		t.Error("a row was created without an ID")
	}
	var count int64
	if err := db.Model(&Invoice{}).Count(&count).Error; err != nil || count != int64(len(want)) {
		t.Errorf("%d rows, %v, want %d", count, err, len(want))
	}
}
