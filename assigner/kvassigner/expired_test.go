package kvassigner_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/kvassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/stores"
)

// A crowd is a namespace with many rows, which List makes up.
type crowd struct {
	*memory
	rows int64
	free func(workerID int64) bool

	held, expired []byte
}

// newCrowd returns a crowd whose meta row says that all rows were given out.
func newCrowd(t *testing.T, rows int64, free func(int64) bool) (*crowd, leasestore.Store) {
	t.Helper()
	c := &crowd{memory: newMemory(), rows: rows, free: free}
	s := kvassigner.LeaseStore(c, namespace)
	if ok, err := s.SwapMeta(t.Context(), leasestore.Meta{}, leasestore.Meta{Version: 1, Token: "T", NextWorkerID: rows}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	row := stores.Sample()
	stores.Create(t, s, row, time.Hour)
	c.held = c.values[rowKey(row.WorkerID)]
	if ok, err := s.Swap(t.Context(), row, row, 0); !ok || err != nil {
		t.Fatal(ok, err)
	}
	c.expired = c.values[rowKey(row.WorkerID)]
	return c, s
}

func (c *crowd) List(_ context.Context, prefix string) (entries []kvassigner.Entry, err error) {
	c.lists = append(c.lists, prefix)
	var block int64
	if _, err := fmt.Sscanf(prefix, "worker/"+namespace+"/%d/", &block); err != nil {
		return nil, err
	}
	for w := block * 1000; w < min((block+1)*1000, c.rows); w++ {
		value := c.held
		if c.free(w) {
			value = c.expired
		}
		value = bytes.Replace(value, []byte(`"WorkerID":4007`), fmt.Appendf(nil, `"WorkerID":%d`, w), 1)
		entries = append(entries, kvassigner.Entry{Key: rowKey(w), Value: value})
	}
	return entries, nil
}

func TestExpiredReadsABoundedNumberOfRows(t *testing.T) {
	const many = 4_000_000
	for _, tt := range []struct {
		name  string
		rows  int64
		free  func(int64) bool
		n     int
		found int
		lists int // at most
	}{
		{"all are free", many, func(int64) bool { return true }, 256, 256, 1},
		{"one in 20 is free", many, func(w int64) bool { return w%20 == 0 }, 256, 256, 6},
		{"one in 20 is free, many wanted", many, func(w int64) bool { return w%20 == 0 }, 2048, 1600, 32},
		{"none is free", many, func(int64) bool { return false }, 256, 0, 32},
		{"none is free, many wanted", many, func(int64) bool { return false }, 8 * 2048, 0, 32},
		{"few rows, one free", 30_001, func(w int64) bool { return w == 30_000 }, 256, 1, 31},
		{"few rows, none wanted", 30_000, func(int64) bool { return true }, 0, 0, 0},
		{"few rows, fewer than none wanted", 30_000, func(int64) bool { return true }, -1, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, s := newCrowd(t, tt.rows, tt.free)
			got, err := s.Expired(t.Context(), tt.n)
			if err != nil || len(got) != tt.found {
				t.Errorf("%d rows, %v; want %d", len(got), err, tt.found)
			}
			seen := make(map[int64]bool)
			for _, row := range got {
				if seen[row.WorkerID] || !tt.free(row.WorkerID) {
					t.Errorf("row %d is held, or was returned twice", row.WorkerID)
				}
				seen[row.WorkerID] = true
			}
			if len(c.lists) > tt.lists {
				t.Errorf("%d folders read, want at most %d", len(c.lists), tt.lists)
			}
		})
	}
}

// Calls that find nothing go on with other folders, until they have seen them all.
func TestExpiredGoesRound(t *testing.T) {
	const rows = 100_000
	for _, free := range []int64{0, 50_500, rows - 1} {
		c, s := newCrowd(t, rows, func(w int64) bool { return w == free })
		var found []leasestore.Row
		for range 4 { // of 32 folders each
			got, err := s.Expired(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, got...)
		}
		if len(found) == 0 || found[0].WorkerID != free {
			t.Errorf("rows %+v, want %d, in %d folders", found, free, len(c.lists))
		}
	}
}

// Rows are found where the meta row does not expect them, and with one more list.
func TestExpiredFindsRowsThatAreNotCounted(t *testing.T) {
	for _, meta := range []leasestore.Meta{
		{},
		{Version: 1, FirstWorkerID: 7, NextWorkerID: 7},
		{Version: 1, FirstWorkerID: 1 << 39, NextWorkerID: 1 << 40},
	} {
		m := newMemory()
		s := kvassigner.LeaseStore(m, namespace)
		if ok, err := s.SwapMeta(t.Context(), leasestore.Meta{}, meta); !ok || err != nil {
			t.Fatal(ok, err)
		}
		held, free := stores.Sample(), stores.Sample()
		held.WorkerID = 3
		stores.Create(t, s, held, time.Hour)
		stores.Create(t, s, free, 0)
		got, err := s.Expired(t.Context(), 10)
		if err != nil || len(got) != 1 || got[0].WorkerID != free.WorkerID || len(m.lists) > 2 {
			t.Errorf("meta %+v: %+v, %v, %d lists; want row %d with two lists at most", meta, got, err, len(m.lists), free.WorkerID)
		}
	}
}

func TestExpiredBeginsAtDifferentRows(t *testing.T) {
	c, _ := newCrowd(t, 500, func(int64) bool { return true })
	first := make(map[int64]bool)
	for range 20 {
		got, err := kvassigner.LeaseStore(c, namespace).Expired(t.Context(), 1)
		if err != nil || len(got) != 1 {
			t.Fatalf("Expired(1): %v, %v", got, err)
		}
		first[got[0].WorkerID] = true
	}
	if len(first) < 10 {
		t.Errorf("20 calls began at %d rows, want 10 at least", len(first))
	}
}
