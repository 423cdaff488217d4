package assignertest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
)

// concurrentCases check operations of several handles.
func concurrentCases() []storeCase {
	return []storeCase{
		{"OneOfManySwapsWins", oneWins},
		{"EqualSwapsAtOnceAllCount", equalAtOnce},
		{"EveryHandleSeesAWriteAtOnce", seenByAll},
		{"ListDuringSwapsLacksNoRow", listDuringSwaps},
	}
}

// several opens some handles. A cluster has them on different nodes.
func (n namespace) several() []leasestore.Store {
	handles := make([]leasestore.Store, 6)
	for i := range handles {
		handles[i] = n.Handle()
	}
	return handles
}

// oneWins lets many goroutines create a row, or swap the same state of it.
func oneWins(t *testing.T, n namespace) {
	const swappers = 64
	for worker, old := range []leasestore.Row{{}, {WorkerID: 1}} {
		row := sampleRow(int64(worker))
		for range 3 {
			next := slices.Repeat([]leasestore.Row{row}, swappers)
			for i := range next {
				next[i].Version, next[i].Fence, next[i].Token = row.Version+1, row.Fence+1+int64(i), fmt.Sprintf("token-%d", i)
			}
			winner := race(t, swappers, n.Handle, func(s leasestore.Store, i int) bool {
				return swap(t, s, old, next[i], time.Hour)
			})
			row = next[winner]
			old = row
			wantRow(t, n.Handle(), row)
		}
	}
}

// equalAtOnce makes swaps at once whose predicates all hold, since each swap leaves version, fence
// and token unchanged. A store that compares revisions of its own has conflicts, and must retry.
func equalAtOnce(t *testing.T, n namespace) {
	row, meta := sampleRow(11), sampleMeta()
	create(t, n.Handle(), row)
	createMeta(t, n.Handle(), meta)
	var wg sync.WaitGroup
	for i, s := range n.several() {
		next := row
		next.Owner = fmt.Sprint("owner ", i)
		wg.Go(func() {
			for range 8 {
				if !swap(t, s, row, next, time.Hour) || !swapMeta(t, s, meta, meta) {
					t.Error("a swap with the version, the fence and the token of the row was refused beside others")
				}
			}
		})
	}
	wg.Wait()
}

// seenByAll writes on each handle in turn, and reads on all handles. A node of a cluster that reads
// its own copy may not have received the write yet.
func seenByAll(t *testing.T, n namespace) {
	handles := n.several()
	var oldRow leasestore.Row
	var oldMeta leasestore.Meta
	row, meta := sampleRow(6), sampleMeta()
	for i, writer := range slices.Repeat(handles, 2) {
		row.Fence, meta.NextWorkerID = row.Fence+1, meta.NextWorkerID+1
		meta.Version++
		free := i%2 == 1
		ttl := time.Hour
		if free {
			ttl = -time.Minute // two handles may have read the store's clock seconds apart
		}
		if !swap(t, writer, oldRow, row, ttl) || !swapMeta(t, writer, oldMeta, meta) {
			t.Fatalf("the swaps of round %d were refused", i)
		}
		for j, s := range handles {
			wantRow(t, s, row)
			if got := loadMeta(t, s); got != meta {
				t.Errorf("meta %+v on handle %d, want %+v", got, j, meta)
			}
			if rows := list(t, s); len(rows) != 1 || !rows[0].Same(row) {
				t.Errorf("List has %+v on handle %d, want %+v", rows, j, row)
			}
			if rows := expired(t, s, 10); (len(rows) == 1) != free {
				t.Errorf("Expired has %+v on handle %d, want the row: %v", rows, j, free)
			}
		}
		oldRow, oldMeta = row, meta
	}
}

// listDuringSwaps checks that List has each row as it was at some time during the call.
func listDuringSwaps(t *testing.T, n namespace) {
	const rows, lists, swaps = 6, 15, 5
	var acknowledged [rows]atomic.Int64
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for i := range acknowledged {
		row := sampleRow(int64(i))
		create(t, n.Handle(), row)
		acknowledged[i].Store(row.Fence)
	}
	for i := range acknowledged {
		row, s := sampleRow(int64(i)), n.Handle()
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				next := row
				next.Fence++
				if !swap(t, s, row, next, time.Hour) {
					t.Errorf("a swap of row %d was refused", i)
					return
				}
				row = next
				acknowledged[i].Store(row.Fence)
			}
		})
	}
	reader := n.Handle()
	for i, slowest := 0, int64(0); (i < lists || slowest < sampleRow(0).Fence+swaps) && !t.Failed(); i++ {
		var before [rows]int64
		for i := range before {
			before[i] = acknowledged[i].Load()
		}
		slowest = slices.Min(before[:])
		seen := make(map[int64]bool)
		for _, row := range list(t, reader) {
			if seen[row.WorkerID] || row.Fence < before[row.WorkerID] {
				t.Errorf("List has row %+v, seen before: %v; acknowledged was fence %d", row, seen[row.WorkerID], before[row.WorkerID])
			}
			seen[row.WorkerID] = true
		}
		if len(seen) != rows {
			t.Errorf("List has the rows %v, want %d", seen, rows)
		}
	}
	close(stop)
	wg.Wait()
}
