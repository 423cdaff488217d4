package assignertest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/testkit"
)

// several opens some handles. A cluster has them on different nodes.
func (n namespace) several() []leasestore.Store {
	handles := make([]leasestore.Store, 6)
	for i := range handles {
		handles[i] = n.Handle()
	}
	return handles
}

// oneWins lets many goroutines create a row or the meta row, or swap the same state of it.
func oneWins(t *testing.T, n namespace) {
	const swappers = 64
	// A few handles stand for processes, with several goroutines each.
	handles := n.several()
	winner := func(f func(s leasestore.Store, i int) bool) (winner int) {
		won := make([]bool, swappers)
		testkit.Together(swappers, func(i int) { won[i] = f(handles[i%len(handles)], i) })
		winner = slices.Index(won, true)
		if winner < 0 || slices.Contains(won[winner+1:], true) {
			t.Fatalf("not one of the swaps took effect, but these: %v", won)
		}
		return winner
	}
	var row leasestore.Row
	var meta leasestore.Meta
	for range 3 {
		rows, metas := make([]leasestore.Row, swappers), make([]leasestore.Meta, swappers)
		for i := range swappers {
			rows[i], metas[i] = sampleRow(1), sampleMeta()
			rows[i].Version, rows[i].Fence, rows[i].Token = row.Version+1, row.Fence+1+int64(i), fmt.Sprintf("token-%d", i)
			metas[i].Version, metas[i].Token = meta.Version+1, rows[i].Token
		}
		row = rows[winner(func(s leasestore.Store, i int) bool { return swap(t, s, row, rows[i], time.Hour) })]
		meta = metas[winner(func(s leasestore.Store, i int) bool { return swapMeta(t, s, meta, metas[i]) })]
		wantRow(t, n.Handle(), row)
		wantMeta(t, n.Handle(), meta)
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
		for _, s := range handles {
			wantRow(t, s, row)
			wantMeta(t, s, meta)
			if rows := list(t, s); len(rows) != 1 || !rows[0].Same(row) {
				t.Errorf("List has %+v, want %+v", rows, row)
			}
			if rows := expired(t, s, 10); (len(rows) == 1) != free {
				t.Errorf("Expired has %+v, want the row: %v", rows, free)
			}
		}
		oldRow, oldMeta = row, meta
	}
}

// listDuringSwaps checks that List has each row as it was at some time during the call.
func listDuringSwaps(t *testing.T, n namespace) {
	const rows, swaps, lists = 6, 5, 15
	var acknowledged [rows]atomic.Int64
	var wg sync.WaitGroup
	stop := make(chan struct{})
	reader := n.Handle()
	for i := range acknowledged {
		create(t, reader, sampleRow(int64(i)))
	}
	for i := range acknowledged {
		row, s := sampleRow(int64(i)), n.Handle()
		acknowledged[i].Store(row.Fence)
		wg.Go(func() {
			for swapped := true; swapped; {
				select {
				case <-stop:
					return
				default:
				}
				next := row
				next.Fence++
				if swapped = swap(t, s, row, next, time.Hour); !swapped {
					t.Errorf("a swap of row %d was refused", i)
				}
				row = next
				acknowledged[i].Store(row.Fence)
			}
		})
	}
	for i, slowest := 0, int64(0); (i < lists || slowest < sampleRow(0).Fence+swaps) && !t.Failed(); i++ {
		var before [rows]int64
		for i := range before {
			before[i] = acknowledged[i].Load()
		}
		slowest = slices.Min(before[:])
		found := make(map[int64]bool)
		for _, row := range list(t, reader) {
			if found[row.WorkerID] || row.Fence < before[row.WorkerID] {
				t.Errorf("List has row %+v, twice: %v; acknowledged was fence %d", row, found[row.WorkerID], before[row.WorkerID])
			}
			found[row.WorkerID] = true
		}
		if len(found) != rows {
			t.Errorf("List has the rows %v, want %d", found, rows)
		}
	}
	close(stop)
	wg.Wait()
}
