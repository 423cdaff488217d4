package sqlassigner

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/test/testserver"
)

// MariaDB has the statement that asks MySQL for its state, with another name of the variable.
func TestMySQLAnswersInsideATransaction(t *testing.T) {
	db, err := OpenMySQL(testserver.MariaDB(t).DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	const ask = "SET @@tx_isolation = @@session.tx_isolation"
	for _, tt := range []struct{ before, want string }{
		{"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", ""},
		{"START TRANSACTION", "inside a transaction"},
		{"COMMIT", ""},
		{"XA START 'a'", "inside a transaction"},
		{"XA END 'a'", "inside a transaction"},
		{"XA ROLLBACK 'a'", ""},
	} {
		db.MustExec(tt.before)
		_, err := db.Exec(ask)
		if err = mysqlBusy(err); (err == nil) != (tt.want == "") || err != nil &&
			(!errors.Is(err, assigner.ErrStoreNotDurable) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("after %s: %v, want %q", tt.before, err, tt.want)
		}
	}
	if err := mysqlBusy(io.EOF); err != io.EOF {
		t.Errorf("another error became %v", err)
	}
}
