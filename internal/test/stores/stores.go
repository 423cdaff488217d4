// Package stores has the calls and checks that tests of stores of worker IDs repeat.
package stores

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/testkit"
)

// Sample returns a row with a holder.
func Sample() leasestore.Row {
	return leasestore.Row{WorkerID: 4007, Version: 6, Fence: 5000, Token: "T", Owner: "O"}
}

// Create writes a row and returns it as the store has it.
func Create(t testing.TB, s leasestore.Store, row leasestore.Row, ttl time.Duration) leasestore.Row {
	t.Helper()
	if ok, err := s.Swap(t.Context(), leasestore.Row{}, row, ttl); !ok || err != nil {
		t.Fatalf("create row %d: %v, %v", row.WorkerID, ok, err)
	}
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

// EveryCall returns the errors of Status, LoadMeta, SwapMeta, Load, List, Swap, Expired and, if the
// store has them, Namespaces and CreateFree. Each call has a time of its own. Swap creates the
// [Sample]. A result beside an error fails the test.
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
	}
	if n, ok := s.(leasestore.Namespaced); ok {
		calls = append(calls, func(ctx context.Context) (any, error) { return n.Namespaces(ctx) })
	}
	if c, ok := s.(leasestore.Creator); ok {
		calls = append(calls, func(ctx context.Context) (any, error) {
			return false, c.CreateFree(ctx, []leasestore.Row{Sample()}, time.Hour)
		})
	}
	for i, call := range calls {
		limited, cancel := context.WithTimeout(ctx, each)
		result, err := call(limited)
		cancel()
		if err != nil && !reflect.ValueOf(result).IsZero() {
			t.Errorf("call %d: result %+v beside the error %v", i, result, err)
		}
		errs = append(errs, err)
	}
	return errs
}

// Fail checks that every call fails, with an error that has all parts and not the password hunter2.
func Fail(t testing.TB, s leasestore.Store, parts ...string) {
	t.Helper()
	for i, err := range EveryCall(t.Context(), t, s, time.Minute) {
		for _, part := range parts {
			if err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("call %d: %v; want an error with %q and without the password", i, err, part)
			}
		}
	}
}
