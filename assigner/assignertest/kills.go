package assignertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
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
	var stores [writers]assigner.Store
	var rows [writers]assigner.Row
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
func raiseDuringKills(t *testing.T, n namespace, s assigner.Store, row assigner.Row) assigner.Row {
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

// killedUnderLeases renews leases all the time. The renewals may fail, but no lease is lost and no
// fence goes back.
func killedUnderLeases(t *testing.T, n namespace) {
	n.needsKill(t)
	if n.lossy {
		t.Skip("a lease on a lossy store ends soon without a renewal")
	}
	var leases [writers]assigner.Lease
	for i := range leases {
		leases[i] = assign(t, n.leased())
	}
	n.killWhile(t, func(i int) { renewDuringKills(t, n, leases[i]) })
	s := n.Handle()
	for _, l := range leases {
		before := l.Grant()
		if row := load(t, s, before.WorkerID); row.Fence < before.Limit {
			t.Errorf("row %+v, acknowledged was fence %d", row, before.Limit)
		}
		insist(t, "Renew", func(ctx context.Context) error { return l.Renew(ctx, before.Limit, before.Limit+1) })
		n.wantFence(t, s, l)
		release(t, l)
	}
	for range leases {
		g := assign(t, n.leased()).Grant()
		for _, l := range leases {
			if old := l.Grant(); g.WorkerID == old.WorkerID {
				wantAbove(t, old, g)
			}
		}
	}
}

func renewDuringKills(t *testing.T, n namespace, l assigner.Lease) {
	t.Helper()
	limit := l.Grant().Limit
	ctx, cancel := bounded(t)
	defer cancel()
	err := l.Renew(ctx, Domain().Now(), limit+1)
	n.wantUnreachable(t, err)
	if err == nil && l.Grant().Limit <= limit || errors.Is(err, assigner.ErrWorkerRowLost) || ctx.Err() != nil {
		t.Errorf("Renew: %v, limit %d, was %d", err, l.Grant().Limit, limit)
	}
}
