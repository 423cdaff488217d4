package sqlassigner

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
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
