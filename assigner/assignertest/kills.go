package assignertest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
)

const (
	// writers change rows while their server is killed.
	writers = 4
	// kills is the number of kills, and between the number of writes of each writer between them.
	kills, between = 4, 15
)

// killWhile calls write for each writer all the time, and kills the server meanwhile.
func (n namespace) killWhile(t *testing.T, write func(i int)) {
	t.Helper()
	stop, wrote := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for {
				write(i)
				select {
				case <-stop:
					return
				case wrote <- struct{}{}:
				}
			}
		})
	}
	for range kills {
		for range between * writers {
			<-wrote
		}
		n.Kill(t)
	}
	close(stop)
	wg.Wait()
}

// needsKill skips a case for stores without a server.
func (n namespace) needsKill(t *testing.T) {
	t.Helper()
	if n.Kill == nil {
		t.Skip("the store has no server")
	}
}

// killedUnderSwaps raises fences, and compares the rows with the acknowledged swaps.
func killedUnderSwaps(t *testing.T, n namespace) {
	n.needsKill(t)
	var stores [writers]leasestore.Store
	var rows [writers]leasestore.Row
	for i := range stores {
		stores[i], rows[i] = n.Handle(), sampleRow(int64(i))
		rows[i].Token = fmt.Sprint("token-", i)
		create(t, stores[i], rows[i])
	}
	n.killWhile(t, func(i int) { rows[i] = raiseDuringKills(t, n, stores[i], rows[i]) })
	for _, row := range rows {
		wantRow(t, n.Handle(), row)
	}
}

// raiseDuringKills raises the fence of a row, and returns the row as the store has it. Without an
// answer it reads the row until the server is back.
func raiseDuringKills(t *testing.T, n namespace, s leasestore.Store, row leasestore.Row) leasestore.Row {
	t.Helper()
	next := row
	next.Fence++
	ctx, cancel := bounded(t)
	defer cancel()
	ok, err := s.Swap(ctx, row, next, time.Hour)
	if ok && err == nil {
		return next
	}
	if ok || err == nil {
		t.Errorf("Swap of row %+v: %v, %v; want true or an error", row, ok, err)
	}
	n.wantUnreachable(t, err)
	found := row
	err = retry(t, func(ctx context.Context) (err error) {
		found, err = s.Load(ctx, row.WorkerID)
		return err
	})
	if err != nil {
		t.Errorf("Load after the outage: %v", err)
	}
	if !found.Same(row) && !found.Same(next) {
		t.Errorf("row %+v, acknowledged was %+v", found, row)
	}
	found.Expires = time.Time{}
	return found
}
