package sqlassigner

import (
	"errors"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// The tables of MySQL about its replication exist in MariaDB, too.
func TestRunningReplicationIsAFault(t *testing.T) {
	opened, err := OpenMySQL(testserver.MariaDB(t, "--performance-schema=ON", "--server-id=7").DSN())
	db := testkit.Close(t, opened, err)
	conn, err := db.Connx(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, tt := range []struct{ statement, want string }{
		{"SELECT 1", ""},
		{"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=1", ""},
		{"START SLAVE SQL_THREAD", "STOP REPLICA"},
		{"STOP SLAVE", ""},
	} {
		db.MustExec(tt.statement)
		faults, err := mysqlReplication(t.Context(), conn, true)
		if got := strings.Join(faults, ""); err != nil || (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("after %s: faults %q, want %q: %v", tt.statement, faults, tt.want, err)
		}
	}
}

// MariaDB has the statement that asks MySQL for its state, with another name of the variable.
func TestMySQLAnswersInsideATransaction(t *testing.T) {
	opened, err := OpenMySQL(testserver.MariaDB(t).DSN())
	db := testkit.Close(t, opened, err)
	db.SetMaxOpenConns(1)
	for _, tt := range []struct {
		before string
		inside bool
	}{
		{"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", false}, {"START TRANSACTION", true}, {"COMMIT", false},
		{"XA START 'a'", true}, {"XA END 'a'", true}, {"XA ROLLBACK 'a'", false},
	} {
		db.MustExec(tt.before)
		_, err := db.Exec("SET @@tx_isolation = @@session.tx_isolation")
		if err = mysqlBusy(err); (err != nil) != tt.inside || tt.inside && !errors.Is(err, leasestore.ErrNotDurable) {
			t.Errorf("after %s: %v, want an error: %v", tt.before, err, tt.inside)
		}
	}
}
