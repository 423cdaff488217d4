package sqlassigner

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/storecall"
	"github.com/uidring/uidring/internal/test/testkit"
)

var (
	errPasses = errors.New("passes")
	errStays  = errors.New("stays")
)

func passes(err error) bool { return errors.Is(err, errPasses) }

func TestRetryRepeatsErrorsThatPass(t *testing.T) {
	for _, tt := range []struct {
		fails []error // the results of the first attempts; then success
		tries int
		want  error
		ends  func(end func()) // at the last of fails; nil: the context does not end
	}{
		{nil, 1, nil, nil},
		{[]error{errPasses, errPasses}, 3, nil, nil},
		{[]error{errStays}, 1, errStays, nil},
		{[]error{errPasses, errPasses, errStays}, 3, errStays, nil},
		// An attempt that fails for lack of time does not hide the cause of the attempt before it.
		{[]error{errPasses, fmt.Errorf("driver: %w", context.Canceled)}, 2, errPasses, func(end func()) { end() }},
		{[]error{errPasses, fmt.Errorf("%w: %w", errPasses, os.ErrDeadlineExceeded)}, 2, errPasses, func(end func()) { time.AfterFunc(1, end) }},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			calls := 0
			tries, err := retry(ctx, func() error {
				if calls++; calls > len(tt.fails) {
					return nil
				}
				if calls == len(tt.fails) && tt.ends != nil {
					tt.ends(cancel)
				}
				return tt.fails[calls-1]
			}, passes)
			if tries != tt.tries || calls != tt.tries || err != tt.want {
				t.Errorf("after %v: %d tries, %d calls, %v; want %d, %v", tt.fails, tries, calls, err, tt.tries, tt.want)
			}
		})
	}
}

func TestRetryEndsWithTheContextAfterGrowingPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := time.Now()
		last := begin
		tries, err := retry(ctx, func() error {
			if pause := time.Since(last); pause > longestPause {
				t.Errorf("pause of %v, at most %v", pause, longestPause)
			}
			last = time.Now()
			return errPasses
		}, passes)
		// Seven pauses grow to the longest, whose mean is half of it.
		if took := time.Since(begin); took != time.Minute || tries < 70 || tries > 300 || err != errPasses {
			t.Errorf("%d tries in %v and %v, want about 125 in a minute and the cause", tries, took, err)
		}
	})
}

// A fakePool opens connections that answer after these times.
type fakePool []time.Duration

type fakeConn struct {
	driver.Conn
	takes time.Duration // -1: it is silent when the driver takes it from the pool, which asks as pgx does
}

func (p *fakePool) Connect(context.Context) (driver.Conn, error) {
	takes := (*p)[0]
	*p = (*p)[1:]
	return fakeConn{takes: takes}, nil
}
func (*fakePool) Driver() driver.Driver { return nil }
func (fakeConn) Close() error           { return nil }

func (c fakeConn) ResetSession(ctx context.Context) error {
	if c.takes >= 0 {
		return nil
	}
	<-ctx.Done()
	return driver.ErrBadConn
}

func TestSilentConnectionsOfThePoolAreDropped(t *testing.T) {
	const sec, dead = time.Second, time.Hour
	for i, tt := range []struct {
		idle          fakePool
		opens         time.Duration
		within, takes time.Duration
	}{
		{nil, 3 * sec, 20 * sec, 3 * sec},
		{fakePool{dead}, 3 * sec, 20 * sec, 5 * sec},
		{fakePool{dead, sec}, dead, 20 * sec, 3 * sec},
		{fakePool{dead, dead}, sec, 20 * sec, 5 * sec},
		{fakePool{-1, -1}, sec, 20 * sec, 5 * sec},
		{fakePool{3 * sec, 3 * sec, 3 * sec}, 0, 20 * sec, 7 * sec}, // the server is slow
		{fakePool{dead, dead, dead}, 0, 20 * sec, 20 * sec},
		{fakePool{dead, dead}, 0, 4 * sec, 1750 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := append(tt.idle, tt.opens)
			s := newStore(Wrap(sql.OpenDB(&p), MySQL), Config{}, nil)
			defer s.db.Close()
			s.db.SetMaxIdleConns(len(tt.idle))
			func() { // the first one comes back last, and is taken first
				for range tt.idle {
					conn, err := s.db.Conn(t.Context())
					testkit.Must(t, err)
					defer conn.Close()
				}
			}()
			s.dialect.idle = func(ctx context.Context, conn *session, _ []table) error {
				return conn.Raw(func(c any) error {
					answer, cancel := context.WithTimeout(ctx, c.(fakeConn).takes)
					defer cancel()
					<-answer.Done()
					return ctx.Err()
				})
			}
			s.dialect.look = func(ctx context.Context, conn *session, _ []table, _ *leasestore.Status) error {
				return s.dialect.idle(ctx, conn, nil)
			}
			ask := s.checkIdle
			if i%2 == 1 {
				ask = func(ctx context.Context, conn *session) error { _, err := s.look(ctx, conn, nil); return err }
			}
			ctx, cancel := context.WithTimeout(t.Context(), tt.within)
			defer cancel()
			began := time.Now()
			err := s.run(ctx, "read", ask)
			took := time.Since(began).Truncate(50 * time.Millisecond) // without the pauses
			if took != tt.takes || errors.Is(err, context.DeadlineExceeded) != (took == tt.within) {
				t.Errorf("idle %v: took %v, %v; want %v", tt.idle, took, err, tt.takes)
			}
		})
	}
}

func TestPoolWithoutAFreeConnectionIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(Wrap(sql.OpenDB(&fakePool{0}), MySQL), Config{}, nil)
		defer s.db.Close()
		s.db.SetMaxOpenConns(1)
		conn, err := s.db.Conn(t.Context())
		testkit.Must(t, err)
		defer conn.Close()
		if err := s.do(t.Context(), "read", nil); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), ": all 1 connections of the pool are in use: ") {
			t.Error(err)
		}
	})
}

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
		undone   bool // the statement surely had no effect: it may be sent again
	}{
		{"mysql", []error{number(1213), number(1205), number(1020), number(1114), number(3101), number(3796)}, nil, true, true},
		{"mysql", []error{number(1665)}, nil, false, true},
		{"mysql", []error{number(1062)}, nil, true, false},
		{"mysql", []error{number(1193), &mysql.MySQLError{Number: 1105, Message: "Unknown system variable 'sync_binlog'"}},
			leasestore.ErrNotDurable, false, false},
		{"mysql", []error{number(1290), number(1792), number(1836), number(1099), errReadOnly}, leasestore.ErrNotDurable, true, true},
		{"mysql", []error{driver.ErrBadConn}, ErrUnreachable, true, true},
		{"mysql", []error{number(1040), number(1047), number(1053), number(1927), number(3100), number(1317), number(1226), number(1969), number(3024), number(9001), number(9005), mysql.ErrInvalidConn, io.EOF, io.ErrUnexpectedEOF, refused,
			errors.New("bad connection")},
			ErrUnreachable, true, false},
		{"mysql", []error{number(1044), number(1045), number(1142), number(1143), number(1698), number(3159), number(1862)}, ErrAccessDenied, false, false},
		{"mysql", []error{number(1049), number(1146)}, ErrTableMissing, false, false},
		{"mysql", []error{number(1064), number(1176), number(1406), context.DeadlineExceeded, context.Canceled,
			errors.New("x"), final("%w", errPasses), closedError(false)}, nil, false, false},

		{"pgx", []error{stateError("40001"), stateError("40P01"), stateError("55P03"), stateError("42P07"), stateError("42710"),
			stateError("53000"), stateError("53100"), stateError("53200"), stateError("58030"), fmt.Errorf("%w: %w", errFile, stateError("42501"))}, nil, true, true},
		{"pgx", []error{stateError("23505")}, nil, true, false},
		{"pgx", []error{stateError("25006"), errReadOnly}, leasestore.ErrNotDurable, true, true},
		{"pgx", []error{stateError("08000"), stateError("08006"), stateError("57P01"), stateError("57P02"), stateError("57P03"),
			stateError("53300"), stateError("57014"), stateError("25P04"), refused, io.ErrUnexpectedEOF, driver.ErrBadConn, closedError(true)}, ErrUnreachable, true, false},
		{"pgx", []error{stateError("28P01"), stateError("28000"), stateError("42501")}, ErrAccessDenied, false, false},
		{"pgx", []error{stateError("3D000"), stateError("42P01")}, ErrTableMissing, false, false},
		{"pgx", []error{stateError("40003"), stateError("42601"), stateError("42P10"), stateError("22001"), stateError(""),
			context.DeadlineExceeded}, nil, false, false},

		{"sqlite", []error{codeError(1032)}, leasestore.ErrDamaged, false, false},
		{"sqlite", []error{codeError(5), codeError(6), codeError(5 | 2<<8), codeError(6 | 1<<8), errors.New("database is locked"),
			errors.New("database table is locked: WORKER_NODE"), networkError("sqlite3: database is locked")}, nil, true, true},
		{"sqlite", []error{errors.New("UNIQUE constraint failed: WORKER_NODE_PIN.ID"), codeError(13), errors.New("database or disk is full (13)")}, nil, true, false},
		{"sqlite", []error{codeError(8), codeError(3), codeError(23), errors.New("attempt to write a readonly database")},
			ErrAccessDenied, false, false},
		{"sqlite", []error{codeError(14), errors.New("unable to open database file: no such file")}, ErrUnreachable, false, false},
		{"sqlite", []error{errors.New("no such table: WORKER_NODE")}, ErrTableMissing, false, false},
		{"sqlite", []error{codeError(1), codeError(9), codeError(10), driver.ErrBadConn, context.DeadlineExceeded, errors.New("x"),
			networkError("sqlite3: SQL logic error: no such column: OWNER")}, nil, false, false},
	} {
		d, err := dialectOf(tt.dialect, nil)
		testkit.Must(t, err)
		for _, err := range tt.errs {
			for _, err := range []error{err, fmt.Errorf("wrapped: %w", err)} {
				if got := d.diagnose(err); got.sentinel != tt.sentinel || got.passes != tt.passes || got.undone != tt.undone ||
					tt.passes && !storecall.Passes((&store{dialect: d}).explain(t.Context(), "look", 1, err)) {
					t.Errorf("%s: %v: %+v; want sentinel %v, passes %v for a start, too, undone %v", tt.dialect, err, got, tt.sentinel, tt.passes, tt.undone)
				}
			}
		}
		if got := d.diagnose(nil); got != (diagnosis{}) {
			t.Errorf("%s: no error is diagnosed as %+v", tt.dialect, got)
		}
	}
}

// An expired password is no reason to do without a protection.
func TestOnlyAMissingRightOrTableIsUnseen(t *testing.T) {
	for code, want := range map[uint16]bool{1142: true, 1146: true, 1820: false, 1045: false, 1040: false} {
		if got := unseen(number(code)); got != want {
			t.Errorf("error %d: unseen is %t", code, got)
		}
	}
}

func TestErrorsOfAServerNameTheirRemedy(t *testing.T) {
	const silent = "its disk may be full, it may be frozen, or the network may drop packets"
	for _, tt := range []struct {
		driver string
		err    error
		want   string
	}{{"mysql", number(1040), "raise its max_connections"}, {"pgx", stateError("53300"), "raise its max_connections"}, {"mysql", context.DeadlineExceeded, silent}} {
		d, _ := dialectOf(tt.driver, nil)
		if err := (&store{dialect: d}).explain(t.Context(), "look", 1, tt.err); !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.driver, err, tt.want)
		}
	}
}

// 284 is 28 bits, as in the default layout, if a byte is taken of it.
func TestWidthThatIsNoneIsOfNoLayout(t *testing.T) {
	for _, stored := range []int64{284, 256, -228, -1} {
		if l, _ := (pin{stored, stored, stored, stored, 1000, 0}).layout(); l.DeltaBits != 255 || l.DatacenterBits != 255 || l.WorkerBits != 255 || l.SequenceBits != 255 {
			t.Errorf("widths of %d bits are read as %v", stored, l)
		}
	}
	if l, _ := (pin{28, 5, 17, 13, 1000, 0}).layout(); l.String() != "28/5/17/13@1s" {
		t.Errorf("the default layout is read as %v", l)
	}
}
