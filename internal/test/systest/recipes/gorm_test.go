package recipes

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
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
	ID    uidring.ID `gorm:"primaryKey;autoIncrement:false;type:bigint;not null"`
	Payer string
}

// assignIDs gives an ID to each new row without one, be it a struct or a map.
func assignIDs(db *gorm.DB, next func(context.Context) (int64, error)) error {
	return db.Callback().Create().Before("gorm:create").Register("uidring", func(tx *gorm.DB) {
		if tx.Error != nil || tx.Statement.Schema == nil || tx.Statement.Schema.PrioritizedPrimaryField == nil {
			return
		}
		rows := tx.Statement.ReflectValue
		if rows.Kind() != reflect.Slice && rows.Kind() != reflect.Array {
			_ = tx.AddError(assignID(tx, rows, next))
			return
		}
		for i := range rows.Len() {
			_ = tx.AddError(assignID(tx, reflect.Indirect(rows.Index(i)), next))
		}
	})
}

// assignID gives an ID to a row without one. It refuses a key of another kind than int64, such as
// the uint of gorm.Model: the database would count instead.
func assignID(tx *gorm.DB, row reflect.Value, next func(context.Context) (int64, error)) error {
	key, ctx := tx.Statement.Schema.PrioritizedPrimaryField, tx.Statement.Context
	set := func(id uidring.ID) error { return key.Set(ctx, row, id) }
	switch row.Kind() {
	case reflect.Struct:
		if _, zero := key.ValueOf(ctx, row); !zero {
			return nil
		}
	case reflect.Map:
		columns, _ := row.Interface().(map[string]any)
		if columns == nil {
			return gorm.ErrInvalidData
		}
		for name, value := range columns {
			if tx.Statement.Schema.LookUpField(name) != key {
				continue
			}
			if v := reflect.ValueOf(value); v.IsValid() && !v.IsZero() {
				return nil
			}
			delete(columns, name)
		}
		set = func(id uidring.ID) error { columns[key.DBName] = id; return nil }
	default: // GORM refuses it
		return nil
	}
	if key.FieldType.Kind() != reflect.Int64 {
		return fmt.Errorf("%s: key %s has type %s, want uidring.ID or another int64", tx.Statement.Schema.Name, key.Name, key.FieldType)
	}
	id, err := next(ctx)
	if err != nil {
		return err
	}
	return set(uidring.ID(id))
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
	return ids, assignIDs(db, ids.NextContext)
}

func TestGORM(t *testing.T) {
	postgreSQL := testserver.PostgreSQL(t).DSN()
	for database, dialect := range map[string]gorm.Dialector{
		"MariaDB":    mysql.Open(testserver.MariaDB(t).DSN()),
		"MySQL":      mysql.Open(testserver.MySQL(t).DSN()),
		"PostgreSQL": postgres.Open(postgreSQL),
		"PgBouncer":  postgres.New(postgres.Config{DSN: postgreSQL, PreferSimpleProtocol: true}), // as a pooler needs it
		"SQLite":     sqlite.New(sqlite.Config{DriverName: "sqlite", DSN: filepath.Join(testserver.DiskFolder(t), "gorm.db")}),
	} {
		for name, test := range map[string]func(*testing.T, *gorm.DB){
			"NewRows": newRows, "ForgottenIDs": forgottenIDs, "OtherKeys": otherKeys, "Upserts": upserts, "Faces": faces,
		} {
			t.Run(database+" "+name, func(t *testing.T) {
				db, ids := openGORM(t, dialect), uidringtest.New(1000, 1)
				testkit.Must(t, assignIDs(db, ids.NextContext))
				test(t, db)
				ids.Break(uidringtest.ErrExhausted)
				if err := db.Create(&Invoice{Payer: "Gus"}).Error; !errors.Is(err, uidringtest.ErrExhausted) {
					t.Errorf("without an ID: %v, want ErrExhausted", err)
				}
			})
		}
		if database == "MariaDB" { // the recipe has the dialect of MySQL
			t.Run("SharedPool", func(t *testing.T) { sharedPool(t, openGORM(t, dialect)) })
		}
	}
}

// openGORM opens a database with empty tables.
func openGORM(t *testing.T, dialect gorm.Dialector) *gorm.DB {
	db, err := gorm.Open(dialect, &gorm.Config{Logger: logger.Discard})
	testkit.Must(t, err)
	models := []any{&Invoice{}, &Receipt{}, &Ticket{}, &Country{}, &Account{}, &Sale{}}
	testkit.Must(t, errors.Join(db.Migrator().DropTable(models...), db.AutoMigrate(models...)))
	return db
}

func newRows(t *testing.T, db *gorm.DB) {
	one, own := Invoice{Payer: "Ada"}, Invoice{ID: 7, Payer: "Bob"}
	several := []*Invoice{{Payer: "Cid"}, {Payer: "Dot"}}
	for _, rows := range []any{
		&one, &own, &several, map[string]any{"ID": 8, "payer": "Eve"}, map[string]any{"payer": "Flo"},
		[]map[string]any{{"payer": "Gus", "id": 0}, {"payer": "Hal", "ID": nil}},
	} {
		testkit.Must(t, db.Model(&Invoice{}).Create(rows).Error)
	}
	for _, rows := range []any{[]*Invoice{nil}, map[string]any(nil)} {
		if err := db.Model(&Invoice{}).Create(rows).Error; err == nil {
			t.Errorf("%v was created without an ID", rows)
		}
	}
	if err := db.Exec("INSERT INTO invoices (payer) VALUES ('Ivy')").Error; err == nil {
		t.Error("the database gave an ID to a row without one")
	}
	var read []Invoice
	testkit.Must(t, db.Order("id").Find(&read).Error)
	want := []Invoice{{7, "Bob"}, {8, "Eve"}, {1000, "Ada"}, {1001, "Cid"}, {1002, "Dot"}, {1003, "Flo"}, {1004, "Gus"}, {1005, "Hal"}}
	if !reflect.DeepEqual(read, want) || one.ID != 1000 || several[1].ID != 1002 {
		t.Errorf("rows %v, want %v", read, want)
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
	var invoice Invoice
	var receipt Receipt
	if err := errors.Join(db.Create(&invoice).Error, db.Create(&receipt).Error); err != nil || invoice.ID != 1000 || receipt.ID != 1001 {
		t.Errorf("IDs %d and %d, %v, want 1000 and 1001", invoice.ID, receipt.ID, err)
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
	ticket := Ticket{Seat: "7a"}
	for _, rows := range []any{&ticket, []*Ticket{{Seat: "7b"}}, map[string]any{"seat": "7c"}} {
		if err := db.Model(&Ticket{}).Create(rows).Error; err == nil || !strings.Contains(err.Error(), "Ticket: key ID has type uint, want uidring.ID") {
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

// An Account has a unique column besides its key.
type Account struct {
	ID    uidring.ID `gorm:"primaryKey;autoIncrement:false;type:bigint;not null"`
	Email string     `gorm:"uniqueIndex;size:100"`
}

// upserts meets a row with the same unique column: the row keeps its ID, and the page says how to
// read it.
func upserts(t *testing.T, db *gorm.DB) {
	first, again, read := Account{Email: "ada@example.com"}, Account{Email: "ada@example.com"}, Account{}
	onEmail := clause.OnConflict{Columns: []clause.Column{{Name: "email"}}, DoUpdates: clause.AssignmentColumns([]string{"email"})}
	testkit.Must(t, errors.Join(db.Create(&first).Error, db.Clauses(onEmail, clause.Returning{}).Create(&again).Error, db.Find(&read).Error))
	returned := uidring.ID(1000)
	if strings.Contains(t.Name(), "/MySQL") { // has no RETURNING
		returned = 1001
	}
	if read.ID != 1000 || again.ID != returned {
		t.Errorf("row %d, struct %d after an upsert, want 1000 and %d", read.ID, again.ID, returned)
	}
}

// A Sale has a key with a face, which is a number in the database.
type Sale struct {
	ID       OrderID `gorm:"primaryKey;autoIncrement:false;type:bigint;not null"`
	Replaces *OrderID
}

func faces(t *testing.T, db *gorm.DB) {
	var first, read Sale
	var number int64
	if err := errors.Join(db.Create(&first).Error, db.Create(&Sale{Replaces: &first.ID}).Error,
		db.First(&read, "replaces = ?", first.ID).Error, db.Raw("SELECT id FROM sales WHERE replaces = 1000").Scan(&number).Error); err != nil {
		t.Fatal(err)
	}
	if number != 1001 || read.ID != 1001 || read.Replaces == nil || *read.Replaces != 1000 {
		t.Errorf("row %d, read as %d that replaces %d", number, int64(read.ID), read.Replaces)
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
