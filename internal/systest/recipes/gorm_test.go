package recipes

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/test/testserver"
	"github.com/uidring/uidring/uidringtest"
)

// An Invoice is a model of GORM.
type Invoice struct {
	ID    uidring.ID `gorm:"primaryKey;autoIncrement:false"`
	Payer string
}

// assignIDs has GORM give an ID to each new row without one.
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
			if row.Kind() != reflect.Struct { // a map of columns: the database rejects it without an ID
				return
			}
			if _, zero := key.ValueOf(ctx, row); zero {
				id, err := next(ctx)
				if err == nil {
					err = key.Set(ctx, row, id)
				}
				_ = tx.AddError(err)
			}
		}
		assign(rows)
		if rows.Kind() == reflect.Slice || rows.Kind() == reflect.Array {
			for i := range rows.Len() {
				assign(reflect.Indirect(rows.Index(i)))
			}
		}
	})
}

func TestGORM(t *testing.T) {
	dsn := testserver.MariaDB(t).DSN()
	for name, test := range map[string]func(*testing.T, *gorm.DB){"NewRows": newRows, "ForgottenIDs": forgottenIDs} {
		t.Run(name, func(t *testing.T) {
			db, err := gorm.Open(mysql.Open(dsn), &gorm.Config{Logger: logger.Discard})
			if err != nil {
				t.Fatal(err)
			}
			models := []any{&Invoice{}, &Receipt{}}
			if err := errors.Join(db.Migrator().DropTable(models...), db.AutoMigrate(models...)); err != nil {
				t.Fatal(err)
			}
			test(t, db)
		})
	}
}

func newRows(t *testing.T, db *gorm.DB) {
	ids := uidringtest.New(1000, 1)
	if err := assignIDs(db, ids.NextIDContext); err != nil {
		t.Fatal(err)
	}
	one, own := Invoice{Payer: "Ada"}, Invoice{ID: 7, Payer: "Bob"}
	several := []*Invoice{{Payer: "Cid"}, {Payer: "Dot"}}
	for _, rows := range []any{&one, &own, &several, map[string]any{"ID": 8, "payer": "Eve"}} {
		if err := db.Model(&Invoice{}).Create(rows).Error; err != nil {
			t.Fatal(err)
		}
	}
	for _, rows := range []any{[]*Invoice{nil}, map[string]any{"payer": "Flo"}, []map[string]any{{"payer": "Flo"}}} {
		if err := db.Model(&Invoice{}).Create(rows).Error; err == nil {
			t.Errorf("%v was created without an ID", rows)
		}
	}
	var read []Invoice
	if err := db.Order("id").Find(&read).Error; err != nil {
		t.Fatal(err)
	}
	want := []Invoice{{7, "Bob"}, {8, "Eve"}, {1000, "Ada"}, {1001, "Cid"}, {1002, "Dot"}}
	if !reflect.DeepEqual(read, want) || one.ID != 1000 || several[1].ID != 1002 {
		t.Errorf("rows %v, want %v", read, want)
	}
	ids.Break(uidringtest.ErrExhausted)
	if err := db.Create(&Invoice{Payer: "Gus"}).Error; !errors.Is(err, uidringtest.ErrExhausted) {
		t.Errorf("without an ID: %v, want ErrExhausted", err)
	}
}

// A Receipt has the default of GORM: the database counts.
type Receipt struct {
	ID    uidring.ID `gorm:"primaryKey"`
	Payer string
}

// forgottenIDs leaves out IDs. Without the callback the database gives a Receipt an ID that the
// generator issues, too, and refuses the second Invoice. With it both models are safe.
func forgottenIDs(t *testing.T, db *gorm.DB) {
	first, forgotten := Receipt{ID: 1000}, Receipt{}
	if err := errors.Join(db.Create(&first).Error, db.Create(&forgotten).Error); err != nil || forgotten.ID != 1001 {
		t.Errorf("ID %d, %v, want 1001 from the database", forgotten.ID, err)
	}
	var zero, second Invoice
	if err := db.Create(&zero).Error; err != nil || zero.ID != 0 {
		t.Errorf("ID %d, %v, want 0", zero.ID, err)
	}
	if err := db.Create(&second).Error; err == nil {
		t.Errorf("a second row without an ID has ID %d, want a duplicate key", second.ID)
	}
	if err := assignIDs(db, uidringtest.New(2000, 1).NextIDContext); err != nil {
		t.Fatal(err)
	}
	var invoice Invoice
	var receipt Receipt
	if err := errors.Join(db.Create(&invoice).Error, db.Create(&receipt).Error); err != nil || invoice.ID != 2000 || receipt.ID != 2001 {
		t.Errorf("IDs %d and %d, %v, want 2000 and 2001", invoice.ID, receipt.ID, err)
	}
}
