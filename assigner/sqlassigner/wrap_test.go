package sqlassigner_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/testkit/storetest"
)

func TestWrapRejectsAnUnknownDialectAndNoHandle(t *testing.T) {
	db := sql.OpenDB(nil)
	for _, tt := range []struct {
		db   *sql.DB
		d    sqlassigner.Dialect
		want string
	}{
		{db, "oracle", sqlassigner.ErrUnknownDriver.Error() + ` "oracle", allowed: mysql`},
		{nil, sqlassigner.MySQL, "no database handle (nil)"},
	} {
		_, err := storetest.LeaseStore(sqlassigner.Wrap(tt.db, tt.d)).Status(t.Context())
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Status with %q: %v, want %q", tt.d, err, tt.want)
		}
	}
}
