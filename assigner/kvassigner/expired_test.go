package kvassigner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/uidring/uidring/assigner/kvassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/memkv"
)

// A crowd is a namespace with many rows, which List makes up.
type crowd struct {
	*memory
	rows int64
	free func(workerID int64) bool
}

// newCrowd returns a crowd whose meta row says that all rows from first on were given out.
func newCrowd(t *testing.T, first, rows int64, free func(int64) bool) (*crowd, leasestore.Store) {
	t.Helper()
	c := &crowd{memory: newMemory(), rows: rows, free: free}
	s := kvassigner.LeaseStore(c, namespace, kvassigner.Config{})
	meta := leasestore.Meta{Version: 1, Token: "T", FirstWorkerID: first, NextWorkerID: rows}
	if ok, err := s.SwapMeta(t.Context(), leasestore.Meta{}, meta); !ok || err != nil {
		t.Fatal(ok, err)
	}
	return c, s
}

func (c *crowd) List(ctx context.Context, prefix string) (entries []kvassigner.Entry, err error) {
	if err := c.enter(ctx, "List", prefix); err != nil {
		return nil, err
	}
	var block int64
	if _, err := fmt.Sscanf(prefix, "worker/"+namespace+"/%d/", &block); err != nil {
		return nil, err
	}
	for w := block * 1000; w < min((block+1)*1000, c.rows); w++ {
		expires := "2100-01-01T00:00:00Z"
		if c.free(w) {
			expires = "2000-01-01T00:00:00Z"
		}
		value := fmt.Appendf(nil, `{"reader":1,"later":{},"value":{"workerID":%d,"expires":%q,"later":1}}`, w, expires)
		entries = append(entries, kvassigner.Entry{Key: rowKey(w), Value: value})
	}
	return entries, nil
}

func TestExpiredReadsABoundedNumberOfRows(t *testing.T) {
	const many = 4_000_000
	for name, tt := range map[string]struct {
		first, rows int64
		every       int64 // worker IDs that it divides are free
		n           int
		found       int
		lists       int // at most
	}{
		"all are free":               {0, many, 1, 1000, 1000, 1},
		"one in 20 is free":          {0, many, 20, 256, 256, 6},
		"one in 20, many wanted":     {0, many, 20, 2048, 1600, 32},
		"worker 0 alone":             {0, 30_001, 40_000, 256, 1, 31},
		"one full folder":            {0, 1000, 1000, 256, 1, 1},
		"one row in a second folder": {0, 1001, 1000, 256, 2, 2},
		"one row, far from 0":        {50_000, 50_001, 1, 256, 1, 1},
		"few rows, none wanted":      {0, 30_000, 1, 0, 0, 0},
		"no rows that are counted":   {0, 0, 1, 256, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := newCrowd(t, tt.first, tt.rows, func(w int64) bool { return w%tt.every == 0 })
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
			if lists := c.called("List"); len(lists) > tt.lists {
				t.Errorf("%d folders read, want at most %d", len(lists), tt.lists)
			}
		})
	}
}

// Calls that find nothing go on with other folders, until they have seen them all.
func TestExpiredGoesRound(t *testing.T) {
	c, s := newCrowd(t, 0, 100_000, func(int64) bool { return false })
	for range 4 { // of 32 folders each
		if got, err := s.Expired(t.Context(), 1); err != nil || len(got) > 0 {
			t.Fatalf("rows %+v, %v; want none", got, err)
		}
	}
	if seen := len(slices.Compact(slices.Sorted(slices.Values(c.called("List"))))); seen != 100 {
		t.Errorf("%d folders read, want all 100", seen)
	}
}

func TestExpiredBeginsAtDifferentRows(t *testing.T) {
	c, _ := newCrowd(t, 0, 500_000, func(int64) bool { return true })
	folders, rows := make(map[int64]bool), make(map[int64]bool)
	for range 20 {
		got, err := kvassigner.LeaseStore(c, namespace, kvassigner.Config{}).Expired(t.Context(), 1)
		if err != nil || len(got) != 1 {
			t.Fatalf("Expired(1): %v, %v", got, err)
		}
		folders[got[0].WorkerID/1000], rows[got[0].WorkerID%1000] = true, true
	}
	if len(folders) < 10 || len(rows) < 10 {
		t.Errorf("20 calls began in %d folders at %d rows, want 10 at least", len(folders), len(rows))
	}
}

func TestExpiredFailsWithItsReads(t *testing.T) {
	for _, call := range []string{"List", "Status"} {
		c, _ := newCrowd(t, 0, 10, func(int64) bool { return true })
		c.fails = call
		if got, err := kvassigner.LeaseStore(c, namespace, kvassigner.Config{}).Expired(t.Context(), 1); got != nil || !errors.Is(err, memkv.ErrDown) {
			t.Errorf("%s fails: rows %+v, %v; want the error", call, got, err)
		}
	}
}
