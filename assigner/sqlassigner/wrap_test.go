package sqlassigner_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/testkit/storetest"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// A handle of database/sql whose connector is asked for the password of each new connection.
func TestPasswordOfMariaDBRotates(t *testing.T) {
	s := testserver.MariaDB(t)
	admin, _ := mariaDB(s).Applied(t)
	storetest.Exec(t, admin, "CREATE USER ids@'127.0.0.1' IDENTIFIED BY 'hunter2'",
		"GRANT SELECT, INSERT, UPDATE ON test1.* TO ids@'127.0.0.1'")
	cfg, err := mysql.ParseDSN("ids@tcp(" + s.Addr() + ")/test1")
	if err != nil {
		t.Fatal(err)
	}
	var password atomic.Value
	password.Store("hunter2")
	err = cfg.Apply(mysql.BeforeConnect(func(_ context.Context, cfg *mysql.Config) error {
		cfg.Passwd = password.Load().(string)
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	a := assigner.Leased(storetest.LeaseStore(sqlassigner.Wrap(db, sqlassigner.MySQL)), assigner.LeaseConfig{})
	l := storetest.Assign(t, a)
	storetest.Exec(t, admin, "ALTER USER ids@'127.0.0.1' IDENTIFIED BY 'hunter3'", "KILL USER ids@'127.0.0.1'")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	err = l.Renew(ctx, 1, l.Grant().Limit+1)
	if !errors.Is(err, sqlassigner.ErrAccessDenied) || strings.Contains(err.Error(), "hunter") {
		t.Errorf("Renew with the old password: %v, want ErrAccessDenied without a password", err)
	}
	password.Store("hunter3")
	if err := l.Renew(t.Context(), 1, l.Grant().Limit+1); err != nil {
		t.Errorf("Renew with the new password: %v", err)
	}
}

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
