package etcdassigner_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/etcdassigner"
	"github.com/uidring/uidring/internal/testkit/stores"
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
	return w, s, other, stores.Create(t, other, sample(), time.Hour)
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
		stores.Want(t, other, tt.want)
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
		stores.Want(t, other, next)
		row = next
	}
	meta := assigner.Meta{Version: 1, Namespace: "N"}
	w.arm(nil, fails(codes.Canceled))
	if ok, err := s.SwapMeta(t.Context(), assigner.Meta{}, meta); !ok || err != nil {
		t.Errorf("SwapMeta: %v, %v; want true", ok, err)
	}
	w.wantAttempts(t, 2)
}
