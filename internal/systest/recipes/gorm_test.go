package recipes

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
	"github.com/uidring/uidring/uidringtest"
)

// An Invoice is a model of GORM.
type Invoice struct {
	ID    uidring.ID `gorm:"primaryKey;autoIncrement:false"`
	Payer string
}

// assignIDs gives an ID to each new row without one. It refuses a key of another type, such as the
// uint of gorm.Model, unless the key is set: the database would count instead.
func assignIDs(db *gorm.DB, next func(context.Context) (uidring.ID, error)) error {
	return db.Callback().Create().Before("gorm:create").Register("uidring", func(tx *gorm.DB) {
		if tx.Error != nil || tx.Statement.Schema == nil || tx.Statement.Schema.PrioritizedPrimaryField == nil {
			return
		}
		key := tx.Statement.Schema.PrioritizedPrimaryField
		ctx, rows := tx.Statement.Context, tx.Statement.ReflectValue
		assign := func(row reflect.Value) {
			if row.Kind() != reflect.Struct { // a map of columns: the database rejects it without an ID
				return
			}
			if _, zero := key.ValueOf(ctx, row); !zero {
				return
			}
			if key.FieldType != reflect.TypeFor[uidring.ID]() {
				_ = tx.AddError(fmt.Errorf("%s: key %s has type %s, want uidring.ID", tx.Statement.Schema.Name, key.Name, key.FieldType))
				return
			}
			id, err := next(ctx)
			if err == nil {
				err = key.Set(ctx, row, id)
			}
			_ = tx.AddError(err)
		}
		assign(rows)
		if rows.Kind() == reflect.Slice || rows.Kind() == reflect.Array {
			for i := range rows.Len() {
				assign(reflect.Indirect(rows.Index(i)))
			}
		}
	})
}

// newShopIDs has the generator share the connections of GORM.
func newShopIDs(ctx context.Context, db *gorm.DB) (*cached.Generator, error) {
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	ids, err := cached.NewContext(ctx, cached.Config{
		Assigner: sqlassigner.Leased(sqlassigner.Wrap(pool, sqlassigner.MySQL), "orders"),
		Layout:   bitsalloc.Recommended(),
	})
	if err != nil {
		return nil, err
	}
	return ids, assignIDs(db, ids.NextIDContext)
}

func TestGORM(t *testing.T) {
	dsn := testserver.MariaDB(t).DSN()
	for name, test := range map[string]func(*testing.T, *gorm.DB){
		"NewRows": newRows, "ForgottenIDs": forgottenIDs, "OtherKeys": otherKeys, "SharedPool": sharedPool,
	} {
		t.Run(name, func(t *testing.T) {
			db, err := gorm.Open(mysql.Open(dsn), &gorm.Config{Logger: logger.Discard})
			if err != nil {
				t.Fatal(err)
			}
			models := []any{&Invoice{}, &Receipt{}, &Ticket{}, &Country{}}
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

// forgottenIDs leaves out IDs. Without the callback the database would count for a Receipt, and
// refuse a second Invoice with the ID 0. With it both models are safe.
func forgottenIDs(t *testing.T, db *gorm.DB) {
	if err := assignIDs(db, uidringtest.New(2000, 1).NextIDContext); err != nil {
		t.Fatal(err)
	}
	var invoice Invoice
	var receipt Receipt
	if err := errors.Join(db.Create(&invoice).Error, db.Create(&receipt).Error); err != nil || invoice.ID != 2000 || receipt.ID != 2001 {
		t.Errorf("IDs %d and %d, %v, want 2000 and 2001", invoice.ID, receipt.ID, err)
	}
}

// A Ticket embeds gorm.Model, whose key is a uint that the database counts.
type Ticket struct {
	gorm.Model
	Seat string
}

// A Country has a key of its own.
type Country struct {
	Code string `gorm:"primaryKey;size:2"`
}

func otherKeys(t *testing.T, db *gorm.DB) {
	if err := assignIDs(db, uidringtest.New(1000, 1).NextIDContext); err != nil {
		t.Fatal(err)
	}
	ticket := Ticket{Seat: "7a"}
	for _, rows := range []any{&ticket, []*Ticket{{Seat: "7b"}}} {
		if err := db.Create(rows).Error; err == nil || !strings.Contains(err.Error(), "Ticket: key ID has type uint, want uidring.ID") {
			t.Errorf("a key that the database counts: %v, want an error", err)
		}
	}
	var tickets int64
	if err := db.Model(&Ticket{}).Count(&tickets).Error; err != nil || tickets != 0 || ticket.ID != 0 {
		t.Errorf("%d tickets, ID %d, %v, want none", tickets, ticket.ID, err)
	}
	if err := db.Create(&Country{Code: "NL"}).Error; err != nil {
		t.Errorf("a row with a key of its own: %v", err)
	}
}

func sharedPool(t *testing.T, db *gorm.DB) {
	ids, err := newShopIDs(t.Context(), db)
	testkit.Close(t, ids, err)
	first, second := Invoice{Payer: "Ada"}, Invoice{Payer: "Bob"}
	if err := errors.Join(db.Create(&first).Error, db.Create(&second).Error); err != nil || first.ID <= 0 || second.ID <= first.ID {
		t.Errorf("IDs %d and %d, %v, want two that increase", first.ID, second.ID, err)
	}
}
