package redisassigner_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/redisassigner"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// writer raises the fence of a row of its own until it is told to stop.
type writer struct {
	store assigner.Store
	row   assigner.Row // as acknowledged
}

// raise writes once. Without an answer it reads the row to find out whether the write took effect.
func (w *writer) raise(ctx context.Context) error {
	next := w.row
	next.Fence++
	ok, err := w.store.Swap(ctx, w.row, next, time.Hour)
	if ok && err == nil {
		w.row = next
		return nil
	}
	if err == nil {
		return fmt.Errorf("row %+v has changed", w.row)
	}
	var found assigner.Row
	for err := error(errors.New("not read yet")); err != nil; { // the server is coming back
		if found, err = w.store.Load(ctx, w.row.WorkerID); ctx.Err() != nil {
			return err
		}
	}
	if found.Token != w.row.Token || found.Fence != w.row.Fence && found.Fence != next.Fence {
		return fmt.Errorf("row %+v, acknowledged was %+v", found, w.row)
	}
	w.row = found
	return nil
}

func TestRedisKilledUnderSwapsForgetsNoneThatItAcknowledged(t *testing.T) {
	const writers, kills = 4, 4
	server := testserver.Redis(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stop, raised := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	for i := range int64(writers) {
		w := writer{store: redisassigner.LeaseStore(connect(t, options(server.Addr())), namespace), row: sample()}
		w.row.WorkerID, w.row.Token = i, fmt.Sprint("token ", i)
		w.row = create(t, w.store, w.row)
		wg.Go(func() {
			for {
				if err := w.raise(ctx); err != nil {
					t.Error(err)
				}
				select {
				case <-stop:
					return
				case raised <- struct{}{}:
				}
			}
		})
	}
	for range kills {
		for range 50 * writers {
			<-raised
		}
		server.Kill9()
		server.Restart()
	}
	close(stop)
	wg.Wait()
	client := connect(t, options(server.Addr()))
	wantIndexed(t, client, redisassigner.LeaseStore(client, namespace))
}

// The client sends a call again when the connection ends. The second call finds the record of the
// first.
func TestLostAnswerIsGivenAgain(t *testing.T) {
	server := testserver.Redis(t)
	w := new(wire)
	s := redisassigner.LeaseStore(connect(t, w.options(server.Addr())), namespace)
	row := create(t, s, sample())
	next := row
	next.Fence, next.Owner = row.Fence+1, "the one whose answer is lost"
	w.cutAfter(next.Owner, func() {})
	if ok, err := s.Swap(t.Context(), row, next, time.Hour); !ok || err != nil {
		t.Errorf("Swap whose answer was lost: %v, %v; want true", ok, err)
	}
	w.wantSent(t, 2)
	wantRow(t, s, next)

	meta := assigner.Meta{Version: 1, Namespace: "the meta row whose answer is lost"}
	w.cutAfter(meta.Namespace, func() {})
	if ok, err := s.SwapMeta(t.Context(), assigner.Meta{}, meta); !ok || err != nil {
		t.Errorf("SwapMeta whose answer was lost: %v, %v; want true", ok, err)
	}
	w.wantSent(t, 2)
}

func TestSwapSentAgainIsRefusedWhereAnotherCameBetween(t *testing.T) {
	server := testserver.Redis(t)
	other := redisassigner.LeaseStore(connect(t, options(server.Addr())), namespace)
	w := new(wire)
	s := redisassigner.LeaseStore(connect(t, w.options(server.Addr())), namespace)
	row := create(t, s, sample())
	next, theirs := row, row
	next.Fence, next.Owner = row.Fence+1, "the one whose answer is lost"
	theirs.Version, theirs.Fence, theirs.Token, theirs.Owner = row.Version+1, row.Fence+2, "theirs", "they"
	w.cutAfter(next.Owner, func() {
		if ok, err := other.Swap(t.Context(), next, theirs, time.Hour); !ok || err != nil {
			t.Errorf("their swap: %v, %v", ok, err)
		}
	})
	if ok, err := s.Swap(t.Context(), row, next, time.Hour); ok || err != nil {
		t.Errorf("Swap that was overtaken: %v, %v; want false", ok, err)
	}
	w.wantSent(t, 2)
	wantRow(t, s, theirs)
}

func TestAmbiguousSwapIsAnError(t *testing.T) {
	server := testserver.Redis(t)
	w := new(wire)
	opt := w.options(server.Addr())
	opt.MaxRetries = -1
	s := redisassigner.LeaseStore(connect(t, opt), namespace)
	row := create(t, s, sample())
	next := row
	next.Fence, next.Owner = row.Fence+1, "the one whose connection is cut"
	w.cutBefore(next.Owner)
	if ok, err := s.Swap(t.Context(), row, next, time.Hour); ok || err == nil {
		t.Errorf("Swap that did not reach the server: %v, %v; want an error", ok, err)
	}
	w.wantSent(t, 0)
	wantRow(t, s, row)
	w.cutAfter(next.Owner, func() {})
	if ok, err := s.Swap(t.Context(), row, next, time.Hour); ok || err == nil {
		t.Errorf("Swap whose answer was lost: %v, %v; want an error", ok, err)
	}
	w.wantSent(t, 1)
	wantRow(t, s, next)
}

// wantRow compares all but the expiry.
func wantRow(t *testing.T, s assigner.Store, want assigner.Row) {
	t.Helper()
	got := load(t, s, want.WorkerID)
	got.Expires = want.Expires
	if got != want {
		t.Errorf("row %+v, want %+v", got, want)
	}
}

// A claim and a renewal whose answers are lost are proved by their token.
func TestLostAnswersCostNoLease(t *testing.T) {
	server := testserver.Redis(t)
	w := new(wire)
	opt := w.options(server.Addr())
	opt.MaxRetries = -1
	s := redisassigner.LeaseStore(connect(t, opt), namespace)
	cfg := quick()
	cfg.Owner = "the one whose connection is cut"
	a := assigner.Leased(s, cfg)
	d := assignertest.Domain()
	meta := assigner.Meta{Version: 1, Namespace: "N", Layout: d.Layout, Epoch: d.Epoch, DatacenterID: d.DatacenterID, NextWorkerID: 1001}
	if ok, err := s.SwapMeta(t.Context(), assigner.Meta{}, meta); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if ok, err := s.Swap(t.Context(), assigner.Row{}, assigner.Row{WorkerID: 1000, Version: 1}, 0); !ok || err != nil {
		t.Fatal(err) // loads the script: its text would be a second call
	}
	w.cutAfter(cfg.Owner, func() {})
	l := settle(t, a)
	if got := l.Grant().WorkerID; got != 1000 {
		t.Errorf("worker %d, want 1000, which was free", got)
	}
	w.cutAfter(cfg.Owner, func() {})
	raise(t, l)
	if row := load(t, s, 1000); row.Fence != l.Grant().Limit || row.Owner != cfg.Owner {
		t.Errorf("row %+v, want %q with fence %d", row, cfg.Owner, l.Grant().Limit)
	}
}

// settle takes a lease and waits out its quarantine.
func settle(t *testing.T, a assigner.Assigner) (l assigner.Lease) {
	t.Helper()
	await(t, func() bool {
		var err error
		l, err = a.Assign(t.Context(), assignertest.Domain())
		if err != nil && !errors.Is(err, assigner.ErrQuarantined) {
			t.Fatalf("Assign: %v", err)
		}
		return err == nil
	})
	return l
}

// raise renews a lease until its limit has risen, which takes a second on a store that forgets.
func raise(t *testing.T, l assigner.Lease) {
	t.Helper()
	before := l.Grant().Limit
	await(t, func() bool {
		if err := l.Renew(t.Context(), before, before+1); err != nil {
			t.Fatalf("Renew: %v", err)
		}
		return l.Grant().Limit > before
	})
}

// After a crash, a Redis with default settings has its last snapshot or no data.
func TestHolderNoticesWhatRedisHasForgotten(t *testing.T) {
	for _, tt := range []struct {
		name     string
		snapshot bool
		want     error
	}{
		{"everything", false, assigner.ErrNamespaceRecreated},
		{"what came after the snapshot", true, assigner.ErrFenceRegressed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := testserver.Redis(t, "--appendonly", "no")
			admin := connect(t, options(server.Addr()))
			cfg := quick()
			cfg.AllowUndurable = true
			l := settle(t, assigner.Leased(redisassigner.LeaseStore(connect(t, options(server.Addr())), namespace), cfg))
			if tt.snapshot {
				if err := admin.Save(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
			}
			raise(t, l)
			before := l.Grant()
			server.Kill9()
			server.Restart()
			if n, err := admin.Exists(t.Context(), hash).Result(); err != nil || (n == 1) != tt.snapshot {
				t.Fatalf("%d hashes after the crash: %v", n, err)
			}
			err := renewOnce(t, l)
			if !errors.Is(err, tt.want) || !errors.Is(err, assigner.ErrWorkerRowLost) || l.Grant() != before {
				t.Errorf("Renew: %v, grant %+v; want %v, %+v", err, l.Grant(), tt.want, before)
			}
		})
	}
}

// renewOnce renews over a connection that the server's crash has not ended.
func renewOnce(t *testing.T, l assigner.Lease) (err error) {
	t.Helper()
	await(t, func() bool {
		g := l.Grant()
		err = l.Renew(t.Context(), g.Limit, g.Limit+1)
		return err == nil || errors.Is(err, assigner.ErrWorkerRowLost)
	})
	return err
}
