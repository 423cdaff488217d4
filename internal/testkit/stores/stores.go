// Package stores has the calls that tests of stores of worker IDs repeat.
package stores

import (
	"context"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/testkit/poll"
)

// Create writes a row and returns it as the store has it.
func Create(t testing.TB, s assigner.Store, row assigner.Row, ttl time.Duration) assigner.Row {
	t.Helper()
	if ok, err := s.Swap(t.Context(), assigner.Row{}, row, ttl); !ok || err != nil {
		t.Fatalf("create row %d: %v, %v", row.WorkerID, ok, err)
	}
	return Load(t, s, row.WorkerID)
}

// Load returns the row of a worker ID.
func Load(t testing.TB, s assigner.Store, workerID int64) assigner.Row {
	t.Helper()
	row, err := s.Load(t.Context(), workerID)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// Want compares the row in a store, all but its expiry.
func Want(t testing.TB, s assigner.Store, want assigner.Row) {
	t.Helper()
	got := Load(t, s, want.WorkerID)
	got.Expires = want.Expires
	if got != want {
		t.Errorf("row %+v, want %+v", got, want)
	}
}

// Status returns the status of a store, and waits for a client that connects again after a restart.
func Status(t testing.TB, s assigner.Store) (status assigner.Status) {
	t.Helper()
	poll.Succeeds(t, "an answer of the store", func() (err error) {
		status, err = s.Status(t.Context())
		return err
	})
	return status
}

// EveryCall returns the errors of Status, LoadMeta, SwapMeta, Load, List, Swap, Expired and
// Namespaces. Each call has its time. Swap creates the row.
func EveryCall(ctx context.Context, s assigner.Store, row assigner.Row, each time.Duration) (errs []error) {
	for _, call := range []func(context.Context) error{
		func(ctx context.Context) error { _, err := s.Status(ctx); return err },
		func(ctx context.Context) error { _, err := s.LoadMeta(ctx); return err },
		func(ctx context.Context) error {
			_, err := s.SwapMeta(ctx, assigner.Meta{}, assigner.Meta{})
			return err
		},
		func(ctx context.Context) error { _, err := s.Load(ctx, row.WorkerID); return err },
		func(ctx context.Context) error { _, err := s.List(ctx); return err },
		func(ctx context.Context) error {
			_, err := s.Swap(ctx, assigner.Row{}, row, time.Hour)
			return err
		},
		func(ctx context.Context) error { _, err := s.Expired(ctx, 1); return err },
		func(ctx context.Context) error { _, err := s.(assigner.Namespaced).Namespaces(ctx); return err },
	} {
		limited, cancel := context.WithTimeout(ctx, each)
		errs = append(errs, call(limited))
		cancel()
	}
	return errs
}
