// Package stores has the calls and checks that tests of stores of worker IDs repeat.
package stores

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/storecall"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// Sample returns a row with a holder.
func Sample() leasestore.Row {
	return leasestore.Row{WorkerID: 4007, Version: 6, Fence: 5000, Token: "T", Owner: "O"}
}

// Swap swaps a row, and ends the test if the store refuses that.
func Swap(t testing.TB, s leasestore.Store, old, next leasestore.Row, ttl time.Duration) {
	t.Helper()
	if ok, err := s.Swap(t.Context(), old, next, ttl); !ok || err != nil {
		t.Fatalf("swap of row %d: %v, %v", next.WorkerID, ok, err)
	}
}

// Create writes a row and returns it as the store has it.
func Create(t testing.TB, s leasestore.Store, row leasestore.Row, ttl time.Duration) leasestore.Row {
	t.Helper()
	Swap(t, s, leasestore.Row{}, row, ttl)
	return Load(t, s, row.WorkerID)
}

// Load returns the row of a worker ID, and waits for a client that connects again after a restart.
func Load(t testing.TB, s leasestore.Store, workerID int64) (row leasestore.Row) {
	t.Helper()
	testkit.Succeeds(t, "the row", func() (err error) {
		row, err = s.Load(t.Context(), workerID)
		return err
	})
	return row
}

// Status returns the status of a store, and waits for a client that connects again after a restart.
func Status(t testing.TB, s leasestore.Store) (status leasestore.Status) {
	t.Helper()
	testkit.Succeeds(t, "an answer of the store", func() (err error) {
		status, err = s.Status(t.Context())
		return err
	})
	return status
}

// EveryCall returns the errors of all methods, without CreateFree if the store cannot create rows
// in one operation. Each call has a time of its own. Swap creates the [Sample]. A result beside an
// error fails the test.
func EveryCall(ctx context.Context, t testing.TB, s leasestore.Store, each time.Duration) (errs []error) {
	t.Helper()
	calls := []func(context.Context) (any, error){
		func(ctx context.Context) (any, error) { return s.Status(ctx) },
		func(ctx context.Context) (any, error) { return s.LoadMeta(ctx) },
		func(ctx context.Context) (any, error) { return s.SwapMeta(ctx, leasestore.Meta{}, leasestore.Meta{}) },
		func(ctx context.Context) (any, error) { return s.Load(ctx, Sample().WorkerID) },
		func(ctx context.Context) (any, error) { return s.List(ctx) },
		func(ctx context.Context) (any, error) { return s.Swap(ctx, leasestore.Row{}, Sample(), time.Hour) },
		func(ctx context.Context) (any, error) { return s.Expired(ctx, 1) },
		func(ctx context.Context) (any, error) { return s.Namespaces(ctx) },
		func(ctx context.Context) (any, error) {
			return s.CreateFree(ctx, []leasestore.Row{Sample()}, time.Hour)
		},
	}
	for i, call := range calls {
		limited, cancel := context.WithTimeout(ctx, each)
		result, err := call(limited)
		cancel()
		if err != nil && !reflect.ValueOf(result).IsZero() {
			t.Errorf("call %d: result %+v beside the error %v", i, result, err)
		}
		if last := i == len(calls)-1; !last || result != false || err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// Fail checks that every call fails, with an error that has all parts and not the password hunter2.
func Fail(t testing.TB, s leasestore.Store, parts ...string) {
	t.Helper()
	for _, err := range EveryCall(t.Context(), t, s, time.Minute) {
		WantError(t, err, nil, parts...)
	}
}

// WantError checks that an error wraps a sentinel, unless that is nil, and that its text has all
// parts, the sentinel's text, and not the password hunter2.
func WantError(t testing.TB, err, sentinel error, parts ...string) {
	t.Helper()
	if err == nil || sentinel != nil && !errors.Is(err, sentinel) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v, want %v with %q and without the password", err, sentinel, parts)
		return
	}
	if sentinel != nil {
		parts = append(parts, sentinel.Error())
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q, want %q in it", err, part)
		}
	}
}

// Waits checks an error like [WantError], and that a start waits for the end of its cause, or not.
func Waits(t testing.TB, waits bool, err, sentinel error, parts ...string) {
	t.Helper()
	if WantError(t, err, sentinel, parts...); storecall.Passes(err) != waits {
		t.Errorf("%v: a start waits: %v, want %v", err, !waits, waits)
	}
}

// A Dial opens the connections of a client.
type Dial func(ctx context.Context, network, addr string) (net.Conn, error)

// A Backend is a store with the keys of package kvassigner on servers of its own.
type Backend struct {
	Servers []*testserver.Server
	// Ready waits until all servers serve after a restart. Nil: [testserver.Await] does.
	Ready func(t testing.TB, servers ...*testserver.Server)
	// Open opens a namespace by a client of one server.
	Open func(t *testing.T, s *testserver.Server, dial Dial, namespace string) leasestore.Store

	names, handles, kills atomic.Int64
}

// Namespace opens an empty namespace. Each handle is connected to the next server, and Kill kills
// the servers in turn.
func (b *Backend) Namespace(t *testing.T) assignertest.StoreFixture {
	name := fmt.Sprint("namespace.", b.names.Add(1))
	open := func(name string, dial Dial) leasestore.Store {
		return b.Open(t, b.Servers[int(b.handles.Add(1))%len(b.Servers)], dial, name)
	}
	direct := new(net.Dialer).DialContext
	return assignertest.StoreFixture{
		Handle:  func() leasestore.Store { return open(name, direct) },
		Other:   func(name string) leasestore.Store { return open(name, direct) },
		Through: func(w *assignertest.Wire) leasestore.Store { return open(name, w.Dial) },
		Down: func(t *testing.T) (up func()) {
			for _, s := range b.Servers {
				s.Kill9()
			}
			return func() { b.restart(t, b.Servers...) }
		},
		Kill: func(t *testing.T) {
			s := b.Servers[int(b.kills.Add(1))%len(b.Servers)]
			s.Kill9()
			b.restart(t, s)
		},
	}
}

func (b *Backend) restart(t *testing.T, servers ...*testserver.Server) {
	for _, s := range servers {
		s.Restart()
	}
	ready := b.Ready
	if ready == nil {
		ready = testserver.Await
	}
	ready(t, b.Servers...)
}

// Assign takes a worker ID, and ends the test on an error.
func Assign(t testing.TB, s leasestore.Store) assigner.Lease {
	t.Helper()
	l, err := assigner.Leased(s, assigner.LeaseConfig{}).Assign(t.Context(), assignertest.Domain())
	testkit.Must(t, err)
	return l
}

// ACopyIsQuarantined checks that a claim on a copy of the store's data, such as a backup that was
// restored, is quarantined. copied makes the copy, and returns the store on it.
func ACopyIsQuarantined(t *testing.T, s leasestore.Store, copied func() leasestore.Store) {
	t.Helper()
	Assign(t, s)
	identity := Status(t, s).Identity
	s = copied()
	got := Status(t, s).Identity
	if got == identity {
		t.Errorf("the copy has the identity %q of the original", got)
	}
	_, err := assigner.Leased(s, assigner.LeaseConfig{}).Assign(t.Context(), assignertest.Domain())
	WantError(t, err, assigner.ErrQuarantined, got)
}

// RenewalTakes checks how many requests a renewal makes. requests returns their number so far.
func RenewalTakes(t *testing.T, s leasestore.Store, want int64, requests func() int64) {
	t.Helper()
	l := Assign(t, s)
	before, limit := requests(), l.Grant().Last
	if err := Extend(t.Context(), l, limit, limit+1); err != nil || requests()-before != want {
		t.Errorf("%d requests, %v; want %d", requests()-before, err, want)
	}
}

// ItsIdentityStays checks the status of a durable store, whose identity matches a pattern and
// outlives a crash of its server.
func ItsIdentityStays(t *testing.T, s leasestore.Store, server *testserver.Server, pattern string) (identity string) {
	t.Helper()
	first := Status(t, s)
	if time.Since(first.Now).Abs() > 10*time.Second || first.Lossy || len(first.Faults) > 0 || !regexp.MustCompile(pattern).MatchString(first.Identity) {
		t.Errorf("status %+v, want a durable store whose identity matches %s", first, pattern)
	}
	server.Kill9()
	server.Restart()
	if got := Status(t, s).Identity; got != first.Identity {
		t.Errorf("identity %q after a crash, was %q", got, first.Identity)
	}
	return first.Identity
}

// ListHasAllPages checks that List returns all rows of an empty store, which are so many or whose
// owner is so long that they take several pages.
func ListHasAllPages(t *testing.T, s leasestore.Store, rows int64, owner string) {
	t.Helper()
	for workerID := range rows {
		Create(t, s, leasestore.Row{WorkerID: workerID, Version: 1, Owner: owner}, time.Hour)
	}
	got, err := s.List(t.Context())
	seen := make(map[int64]bool)
	for _, row := range got {
		seen[row.WorkerID] = true
	}
	if err != nil || len(got) != int(rows) || len(seen) != len(got) {
		t.Errorf("List: %d rows, %d of them different, %v; want %d", len(got), len(seen), err, rows)
	}
}

// Extend renews a lease whose holder has used deltas up to used and wants another.
func Extend(ctx context.Context, l assigner.Lease, used, want int64) error {
	_, err := l.Renew(ctx, assigner.Use{Used: used, Want: want})
	return err
}
