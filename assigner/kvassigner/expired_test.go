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
	for name, tt := range map[string]struct {
		rows  int64
		every int64 // worker IDs that it divides are free
		n     int
		found int
		lists int // at most
	}{
		"all are free":             {many, 1, 1000, 1000, 1},
		"one in 20 is free":        {many, 20, 256, 256, 6},
		"one in 20, many wanted":   {many, 20, 2048, 1600, 32},
		"worker 0 alone":           {30_001, 40_000, 256, 1, 31},
		"few rows, none wanted":    {30_000, 1, 0, 0, 0},
		"few rows, fewer than 0":   {30_000, 1, -1, 0, 0},
		"no rows that are counted": {0, 1, 256, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := newCrowd(t, tt.rows, func(w int64) bool { return w%tt.every == 0 })
			got, err := s.Expired(t.Context(), tt.n)
			if err != nil || len(got) != tt.found {
				t.Errorf("%d rows, %v; want %d", len(got), err, tt.found)
			}
			seen := make(map[int64]bool)
			for _, row := range got {
				if seen[row.WorkerID] || !c.free(row.WorkerID) {
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
