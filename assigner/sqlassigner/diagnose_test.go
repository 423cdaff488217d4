package sqlassigner

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
)

type stateError string

func (e stateError) Error() string    { return "ERROR (SQLSTATE " + string(e) + ")" }
func (e stateError) SQLState() string { return string(e) }

type codeError int

func (e codeError) Error() string { return fmt.Sprintf("SQLite error (%d)", int(e)) }
func (e codeError) Code() int     { return int(e) }

// A networkError looks like an error of a network, as errors of ncruces/go-sqlite3 do.
type networkError string

func (e networkError) Error() string { return string(e) }
func (networkError) Timeout() bool   { return false }
func (networkError) Temporary() bool { return true }

type closedError bool

func (e closedError) Error() string     { return "conn closed" }
func (e closedError) SafeToRetry() bool { return bool(e) }

func number(n uint16) error { return &mysql.MySQLError{Number: n, Message: "message"} }

func TestDiagnosis(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errors.New("refused"))}
	for _, tt := range []struct {
		dialect  string
		errs     []error
		sentinel error
		passes   bool
	}{
		{"mysql", []error{number(1213), number(1205), number(1020), number(1062)}, nil, true},
		{"mysql", []error{number(1290), number(1792), number(1836), errReadOnly}, assigner.ErrStoreNotDurable, true},
		{"mysql", []error{number(1040), number(1047), number(1053), number(1927), mysql.ErrInvalidConn, driver.ErrBadConn,
			io.EOF, io.ErrUnexpectedEOF, refused}, ErrUnreachable, true},
		{"mysql", []error{number(1044), number(1045), number(1142), number(1143), number(1698)}, ErrAccessDenied, false},
		{"mysql", []error{number(1049), number(1146)}, ErrTableMissing, false},
		{"mysql", []error{number(1064), number(1176), number(1406), context.DeadlineExceeded, context.Canceled, errors.New("x"),
			final("%w", errPasses), closedError(false)}, nil, false},

		{"pgx", []error{stateError("40001"), stateError("40P01"), stateError("55P03"), stateError("23505"),
			stateError("42P07"), stateError("42710")}, nil, true},
		{"pgx", []error{stateError("25006"), errReadOnly}, assigner.ErrStoreNotDurable, true},
		{"pgx", []error{stateError("08000"), stateError("08006"), stateError("57P01"), stateError("57P02"), stateError("57P03"),
			stateError("53300"), refused, io.ErrUnexpectedEOF, closedError(true)}, ErrUnreachable, true},
		{"pgx", []error{stateError("28P01"), stateError("28000"), stateError("42501")}, ErrAccessDenied, false},
		{"pgx", []error{stateError("3D000"), stateError("42P01")}, ErrTableMissing, false},
		{"pgx", []error{stateError("42601"), stateError("42P10"), stateError("22001"), stateError(""), context.DeadlineExceeded}, nil, false},

		{"sqlite", []error{codeError(1032)}, leasestore.ErrDamaged, false},
		{"sqlite", []error{codeError(5), codeError(6), codeError(5 | 2<<8), codeError(6 | 1<<8),
			errors.New("database is locked"), errors.New("database table is locked: WORKER_NODE"),
			errors.New("UNIQUE constraint failed: WORKER_NODE_PIN.ID")}, nil, true},
		{"sqlite", []error{codeError(8), codeError(3), codeError(23), errors.New("attempt to write a readonly database")},
			ErrAccessDenied, false},
		{"sqlite", []error{codeError(14), errors.New("unable to open database file: no such file")}, ErrUnreachable, false},
		{"sqlite", []error{errors.New("no such table: WORKER_NODE")}, ErrTableMissing, false},
		{"sqlite", []error{codeError(1), codeError(13), context.DeadlineExceeded, errors.New("x"),
			networkError("sqlite3: SQL logic error: no such column: OWNER")}, nil, false},
	} {
		d, err := dialectOf(tt.dialect)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range tt.errs {
			for _, err := range []error{err, fmt.Errorf("wrapped: %w", err)} {
				if got := d.diagnose(err); got.sentinel != tt.sentinel || got.passes != tt.passes {
					t.Errorf("%s: %v: sentinel %v, passes %v; want %v, %v",
						tt.dialect, err, got.sentinel, got.passes, tt.sentinel, tt.passes)
				}
			}
		}
		if got := d.diagnose(nil); got != (diagnosis{}) {
			t.Errorf("%s: no error is diagnosed as %+v", tt.dialect, got)
		}
	}
}

// Dolt reports an unknown variable with its number for errors of any kind.
func TestUnknownVariable(t *testing.T) {
	for _, tt := range []struct {
		number  uint16
		message string
		want    bool
	}{
		{1193, "Unknown system variable 'sync_binlog'", true},
		{1105, "Unknown system variable 'innodb_flush_log_at_trx_commit'", true},
		{1105, "unknown system variable 'in_transaction'", true},
		{1105, "unknown error", false},
		{1064, "Unknown system variable", false},
	} {
		err := fmt.Errorf("wrapped: %w", &mysql.MySQLError{Number: tt.number, Message: tt.message})
		if got := unknownVariable(err); got != tt.want {
			t.Errorf("%v: %v, want %v", err, got, tt.want)
		}
		if refused := diagnoseMySQL(err).sentinel == assigner.ErrStoreNotDurable; refused != tt.want {
			t.Errorf("%v: not durable: %v, want %v", err, refused, tt.want)
		}
	}
}

// A statement that may have taken effect must not count as undone: a swap would be repeated.
func TestDiagnosisOfWhatIsSurelyUndone(t *testing.T) {
	for _, tt := range []struct {
		dialect        string
		undone, unsure []error
	}{
		{"mysql", []error{number(1213), number(1205), number(1020), number(1290), number(1792), number(1836), driver.ErrBadConn},
			[]error{number(1053), number(1927), number(1317), mysql.ErrInvalidConn, io.EOF, context.DeadlineExceeded, errors.New("x"), nil}},
		{"pgx", []error{stateError("40001"), stateError("40P01"), stateError("55P03"), stateError("25006")},
			[]error{stateError("40003"), stateError("57P01"), stateError("57014"), stateError("08006"), driver.ErrBadConn,
				io.ErrUnexpectedEOF, context.Canceled, errors.New("x"), nil}},
		{"sqlite", []error{codeError(5), codeError(6), errors.New("database is locked"), networkError("sqlite3: database is locked")},
			[]error{codeError(9), codeError(10), codeError(13), driver.ErrBadConn, context.Canceled, errors.New("x"), nil}},
	} {
		d, err := dialectOf(tt.dialect)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range tt.undone {
			if !d.diagnose(err).undone {
				t.Errorf("%s: %v may have taken effect, want undone", tt.dialect, err)
			}
		}
		for _, err := range tt.unsure {
			if d.diagnose(err).undone {
				t.Errorf("%s: %v is undone, want that it may have taken effect", tt.dialect, err)
			}
		}
	}
}
