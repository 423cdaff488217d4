package assignertest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
)

// sampleRow returns a row with a holder.
func sampleRow(workerID int64) leasestore.Row {
	return leasestore.Row{
		WorkerID: workerID,
		Version:  6,
		Fence:    5_000_000_000,
		Oldest:   4_999_999_999,
		Former:   4_999_999_998,
		Token:    "QWERTZUIOPASDFGHJKLYXCVBNM",
		Owner:    "host-1 pid 4711",
		Holder:   "host-2 pid 4712",
		Identity: "some server",
		Extra:    "row {} <é>",
	}
}

func sampleMeta() leasestore.Meta {
	return leasestore.Meta{
		Version:      1,
		Namespace:    "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
		Layout:       bitsalloc.Layout{DeltaBits: 33, DatacenterBits: 2, WorkerBits: 17, SequenceBits: 11, Unit: 500 * time.Millisecond},
		Epoch:        time.Date(2020, time.February, 29, 23, 59, 59, 999e6, time.UTC),
		DatacenterID: 3,
		NextWorkerID: 20_000, // or Expired may leave rows out
		Fence:        1 << 50,
		Horizon:      1<<50 - 1,
		Token:        strings.Repeat("aZ09+/=_", 8),
		Identity:     strings.Repeat("0123456789", 10),
		Extra:        "meta {} <é>",
	}
}

// sameRow compares rows, and times regardless of their location.
func sameRow(a, b leasestore.Row) bool {
	equal := a.Expires.Equal(b.Expires)
	a.Expires = b.Expires
	return equal && a == b
}

// wantRow compares a row in the store with the row that was written, except for Expires, which the
// store sets.
func wantRow(t *testing.T, s leasestore.Store, want leasestore.Row) {
	t.Helper()
	got := load(t, s, want.WorkerID)
	if got.Expires.IsZero() {
		t.Errorf("row %d has no expiry", want.WorkerID)
	}
	got.Expires = want.Expires
	if got != want {
		t.Errorf("row %+v, want %+v", got, want)
	}
}

func wantMeta(t *testing.T, s leasestore.Store, want leasestore.Meta) {
	t.Helper()
	if got := loadMeta(t, s); got != want {
		t.Errorf("meta %+v, want %+v", got, want)
	}
}

// create creates a row that expires in an hour.
func create(t *testing.T, s leasestore.Store, row leasestore.Row) {
	t.Helper()
	if !swap(t, s, leasestore.Row{}, row, time.Hour) {
		t.Fatalf("row %d was not created", row.WorkerID)
	}
}

func createMeta(t *testing.T, s leasestore.Store, meta leasestore.Meta) {
	t.Helper()
	if !swapMeta(t, s, leasestore.Meta{}, meta) {
		t.Fatal("the meta row was not created")
	}
}

// The functions below fail the test on an error. Any goroutine may call them.

func call[T any](t *testing.T, name string, f func(context.Context) (T, error)) T {
	t.Helper()
	ctx, cancel := bounded(t)
	defer cancel()
	result, err := f(ctx)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return result
}

func status(t *testing.T, s leasestore.Store) leasestore.Status {
	t.Helper()
	return call(t, "Status", s.Status)
}

// loadMeta returns the epoch in UTC, so that metas can be compared.
func loadMeta(t *testing.T, s leasestore.Store) leasestore.Meta {
	t.Helper()
	m := call(t, "LoadMeta", s.LoadMeta)
	m.Epoch = m.Epoch.UTC()
	return m
}

func swapMeta(t *testing.T, s leasestore.Store, old, next leasestore.Meta) bool {
	t.Helper()
	return call(t, "SwapMeta", func(ctx context.Context) (bool, error) { return s.SwapMeta(ctx, old, next) })
}

func load(t *testing.T, s leasestore.Store, workerID int64) leasestore.Row {
	t.Helper()
	return call(t, "Load", func(ctx context.Context) (leasestore.Row, error) { return s.Load(ctx, workerID) })
}

func expired(t *testing.T, s leasestore.Store, n int) []leasestore.Row {
	t.Helper()
	return call(t, "Expired", func(ctx context.Context) ([]leasestore.Row, error) { return s.Expired(ctx, n) })
}

func list(t *testing.T, s leasestore.Store) []leasestore.Row {
	t.Helper()
	return call(t, "List", s.List)
}

func swap(t *testing.T, s leasestore.Store, old, next leasestore.Row, ttl time.Duration) bool {
	t.Helper()
	return call(t, "Swap", func(ctx context.Context) (bool, error) { return s.Swap(ctx, old, next, ttl) })
}
