package sqlassigner_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/sqlassigner"
)

func TestUnusableHandleIsAnErrorOfAssign(t *testing.T) {
	for _, tt := range []struct {
		db       *sqlx.DB
		sentinel error
		want     string
	}{
		{sqlassigner.Wrap(sql.OpenDB(nil), "oracle"), sqlassigner.ErrUnknownDriver, `"oracle", allowed: mysql; sqlite, sqlite3; pgx, postgres`},
		{sqlassigner.Wrap(nil, sqlassigner.MySQL), nil, "no database handle (nil)"},
	} {
		_, err1 := sqlassigner.Disposable(tt.db, sqlassigner.Config{}).Assign(t.Context(), assignertest.Domain())
		_, err2 := sqlassigner.Sticky(tt.db, "key", sqlassigner.Config{}).Assign(t.Context(), assignertest.Domain())
		_, err3 := sqlassigner.Apply(t.Context(), tt.db, sqlassigner.Config{})
		_, err4 := sqlassigner.LeaseStore(tt.db, "orders", sqlassigner.Config{}).Status(t.Context())
		for _, err := range []error{err1, err2, err3, err4} {
			if err == nil || !strings.Contains(err.Error(), tt.want) || tt.sentinel != nil && !errors.Is(err, tt.sentinel) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		}
	}
}

func TestUnusableKeyIsAnErrorOfAssign(t *testing.T) {
	db := sqlassigner.Wrap(sql.OpenDB(nil), sqlassigner.MySQL)
	for _, tt := range []struct{ key, want string }{
		{"", "has 0 characters, allowed: 1 to 128"},
		{strings.Repeat("ä", 129), "has 129 characters, allowed: 1 to 128"},
		{"orders ", "allowed: no space at either end"},
		{"\u00a0orders", "allowed: no space at either end"},
		{"or\nders", "without control characters"},
		{"or\x00ders", "without control characters"},
		{"or\xffders", "allowed: UTF-8"},
	} {
		if _, err := sqlassigner.Sticky(db, tt.key, sqlassigner.Config{}).Assign(t.Context(), assignertest.Domain()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("key %q: %v, want %q", tt.key, err, tt.want)
		}
	}
}
