package etcdassigner_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/etcdassigner"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// A wire loses transactions of a client. It sees each attempt that the client makes.
type wire struct {
	mu       sync.Mutex
	attempts int
	before   func() error // called before the first attempt; an error: the server does not get to see it
	after    func() error // called after the first attempt; an error takes the place of the answer
}

func (w *wire) option() grpc.DialOption {
	return grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
		invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if method != "/etcdserverpb.KV/Txn" {
			return invoke(ctx, method, request, reply, conn, opts...)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.attempts++
		if w.before != nil && w.attempts == 1 {
			if err := w.before(); err != nil {
				return err
			}
		}
		err := invoke(ctx, method, request, reply, conn, opts...)
		if w.after != nil && w.attempts == 1 {
			return w.after()
		}
		return err
	})
}

func (w *wire) arm(before, after func() error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.attempts, w.before, w.after = 0, before, after
}

func (w *wire) wantAttempts(t *testing.T, want int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.attempts != want {
		t.Errorf("the client made %d attempts, want %d", w.attempts, want)
	}
}

func fails(code codes.Code) func() error {
	return func() error { return status.Error(code, "the wire is cut") }
}

// rig is a row in a store over a wire, and another handle on the store.
func rig(t *testing.T) (w *wire, s, other assigner.Store, row assigner.Row) {
	t.Helper()
	server := testserver.Etcd(t)
	w = new(wire)
	s = etcdassigner.LeaseStore(connect(t, server.DSN(), w.option()), namespace)
	other = etcdassigner.LeaseStore(connect(t, server.DSN()), namespace)
	return w, s, other, create(t, other, sample())
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

func TestAmbiguousSwapIsAnErrorAndNotMadeAgain(t *testing.T) {
	w, s, other, row := rig(t)
	next := row
	next.Fence++
	for _, tt := range []struct {
		before, after func() error
		want          assigner.Row
	}{
		{fails(codes.Unavailable), nil, row},
		{nil, fails(codes.Unavailable), next},
	} {
		w.arm(tt.before, tt.after)
		if ok, err := s.Swap(t.Context(), row, next, time.Hour); ok || err == nil {
			t.Errorf("Swap: %v, %v; want an error", ok, err)
		}
		w.wantAttempts(t, 1)
		wantRow(t, other, tt.want)
	}
}

// The client makes a transaction again when the server gives up on it, which says nothing of its
// effect.
func TestTransactionMadeAgainFindsItsOwnEffect(t *testing.T) {
	w, s, other, row := rig(t)
	for _, code := range []codes.Code{codes.Canceled, codes.DeadlineExceeded} {
		next := row
		next.Fence++
		w.arm(nil, fails(code))
		if ok, err := s.Swap(t.Context(), row, next, time.Hour); !ok || err != nil {
			t.Errorf("Swap after %v: %v, %v; want true", code, ok, err)
		}
		w.wantAttempts(t, 2)
		wantRow(t, other, next)
		row = next
	}
	meta := assigner.Meta{Version: 1, Namespace: "N"}
	w.arm(nil, fails(codes.Canceled))
	if ok, err := s.SwapMeta(t.Context(), assigner.Meta{}, meta); !ok || err != nil {
		t.Errorf("SwapMeta: %v, %v; want true", ok, err)
	}
	w.wantAttempts(t, 2)
}

// Between the read and the transaction of a swap others may write.
func TestSwapComparesWhatItFindsAtLast(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*assigner.Row)
		want   bool
	}{
		{"an equal row", func(r *assigner.Row) { r.Owner = "another name" }, true},
		{"a higher fence", func(r *assigner.Row) { r.Fence++ }, false},
		{"another token", func(r *assigner.Row) { r.Token = "theirs" }, false},
		{"another version", func(r *assigner.Row) { r.Version++ }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, s, other, row := rig(t)
			theirs, next := row, row
			tt.change(&theirs)
			next.Fence, next.Owner = row.Fence+100, "mine"
			w.arm(func() error {
				if ok, err := other.Swap(t.Context(), row, theirs, time.Minute); !ok || err != nil {
					t.Errorf("their swap: %v, %v", ok, err)
				}
				return nil
			}, nil)
			if ok, err := s.Swap(t.Context(), row, next, time.Hour); ok != tt.want || err != nil {
				t.Errorf("Swap: %v, %v; want %v", ok, err, tt.want)
			}
			if tt.want {
				theirs = next
			}
			wantRow(t, other, theirs)
		})
	}
}

// The answers of a claim, a renewal and a release are lost. The token shows whether they took
// effect.
func TestLostAnswersCostNoLease(t *testing.T) {
	w, s, other, row := rig(t)
	free := row
	free.Token, free.Identity = "", look(t, other).Identity
	if ok, err := other.Swap(t.Context(), row, free, 0); !ok || err != nil {
		t.Fatalf("free the row: %v, %v", ok, err)
	}
	a := assigner.Leased(s, assigner.LeaseConfig{Owner: "mine"})
	if _, err := assigner.Fenced(other, 8, "they", assigner.LeaseConfig{}).Assign(t.Context(), assignertest.Domain()); err != nil {
		t.Fatal(err) // creates the meta row
	}
	meta, err := other.LoadMeta(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	counted := meta
	counted.Version, counted.NextWorkerID = meta.Version+1, 9
	if ok, err := other.SwapMeta(t.Context(), meta, counted); !ok || err != nil {
		t.Fatalf("count the rows: %v, %v", ok, err)
	}
	w.arm(nil, fails(codes.Unavailable))
	l, err := a.Assign(t.Context(), assignertest.Domain())
	if err != nil {
		t.Fatalf("Assign whose answer was lost: %v", err)
	}
	w.wantAttempts(t, 1)
	if g := l.Grant(); g.WorkerID != 7 || g.First <= row.Fence || load(t, other, 7).Fence != g.Limit {
		t.Errorf("grant %+v, row %+v; want worker 7 above fence %d", g, load(t, other, 7), row.Fence)
	}
	limit := l.Grant().Limit
	w.arm(nil, fails(codes.Unavailable))
	if err := l.Renew(t.Context(), limit, limit+50); err != nil || l.Grant().Limit < limit+50 {
		t.Errorf("Renew whose answer was lost: %v, limit %d, want %d at least", err, l.Grant().Limit, limit+50)
	}
	w.arm(nil, fails(codes.Unavailable))
	if err := l.Release(t.Context(), 0); err != nil {
		t.Errorf("Release whose answer was lost: %v", err)
	}
	if got := load(t, other, 7); got.Token != "" || got.Fence != l.Grant().Limit {
		t.Errorf("row %+v, want it free with fence %d", got, l.Grant().Limit)
	}
}

func TestEtcdKilledUnderLeasesLowersNoFence(t *testing.T) {
	const holders, kills = 4, 3
	server := testserver.Etcd(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	leases := make([]assigner.Lease, holders)
	for i := range leases {
		s := etcdassigner.LeaseStore(connect(t, server.DSN()), namespace)
		l, err := assigner.Leased(s, assigner.LeaseConfig{}).Assign(ctx, assignertest.Domain())
		if err != nil {
			t.Fatal(err)
		}
		leases[i] = l
	}
	stop, renewed := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	for _, l := range leases {
		wg.Go(func() { renewUntil(ctx, t, l, stop, renewed) })
	}
	for range kills {
		for range 50 * holders {
			<-renewed
		}
		server.Kill9()
		server.Restart()
	}
	close(stop)
	wg.Wait()
	s := etcdassigner.LeaseStore(connect(t, server.DSN()), namespace)
	for _, l := range leases {
		if row := load(t, s, l.Grant().WorkerID); row.Fence < l.Grant().Limit {
			t.Errorf("row %+v, acknowledged was fence %d", row, l.Grant().Limit)
		}
		before := l.Grant().Limit
		if err := insist(func() error { return l.Renew(ctx, before, before+1) }); err != nil {
			t.Errorf("Renew at the end: %v", err)
		}
	}
}

// renewUntil renews all the time. While the server is away there are errors, but the lease is not
// lost.
func renewUntil(ctx context.Context, t *testing.T, l assigner.Lease, stop <-chan struct{}, renewed chan<- struct{}) {
	now := assignertest.Domain().Now
	for {
		limit := l.Grant().Limit
		err := l.Renew(ctx, now(), limit+1)
		switch {
		case err == nil && l.Grant().Limit <= limit:
			t.Errorf("limit %d after a Renew, was %d", l.Grant().Limit, limit)
		case errors.Is(err, assigner.ErrWorkerRowLost) || ctx.Err() != nil:
			t.Errorf("Renew: %v", err)
		}
		select {
		case <-stop:
			return
		case renewed <- struct{}{}:
		}
	}
}
