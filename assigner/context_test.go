package assigner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/storecall"
	"github.com/uidring/uidring/internal/test/testkit"
)

// A connected store keeps a connection for the operation of a context, as SQL stores do.
type connected struct {
	*memStore
	open      int    // connections
	impatient []bool // of each swap
}

func (s *connected) Close() error { s.open--; return nil }

func (s *connected) connect(ctx context.Context) {
	s.open++
	storecall.Keep(ctx, s, s)
}

func (s *connected) Status(ctx context.Context) (leasestore.Status, error) {
	s.connect(ctx)
	return s.memStore.Status(ctx)
}

func (s *connected) Expired(ctx context.Context, n int) ([]leasestore.Row, error) {
	s.connect(ctx)
	return s.memStore.Expired(ctx, n)
}

func (s *connected) Swap(ctx context.Context, old, next leasestore.Row, ttl time.Duration) (bool, error) {
	s.impatient = append(s.impatient, storecall.IsImpatient(ctx))
	return s.memStore.Swap(ctx, old, next, ttl)
}

// Other processes wait for the connection of a claim that waits for them.
func TestClaimHoldsNoConnectionWhileItWaits(t *testing.T) {
	s := &connected{memStore: newMemStore()}
	s.onChange = func(what string, do func() bool) (bool, error) { return what != "swap" && do(), nil }
	ctx, cancel := context.WithCancel(t.Context())
	a := newLeaser(s, shortWindow)
	pauses := 0
	a.pause = func(context.Context, int) {
		if pauses++; pauses == 3 {
			cancel()
		}
		if s.open != 0 {
			t.Errorf("pause %d: %d connections, want none", pauses, s.open)
		}
	}
	if _, err := a.Assign(ctx, memDomain()); !errors.Is(err, context.Canceled) || pauses != 3 {
		t.Errorf("%v after %d pauses, want 3 pauses until the context ends", err, pauses)
	}
}

// sourceFunc is a source of Fenced.
type sourceFunc func() int64

func (f sourceFunc) Assign(ctx context.Context, d Domain) (Lease, error) {
	return Static(f()).Assign(ctx, d)
}

func (s *connected) Namespaces(ctx context.Context) (map[string]leasestore.Meta, error) {
	s.connect(ctx)
	return s.memStore.Namespaces(ctx)
}

// A handlerFunc is called with each log record, as text.
type handlerFunc func(record []byte)

func (f handlerFunc) Write(record []byte) (int, error) { f(record); return len(record), nil }

// The source of Fenced and the Logger may need the only connection of a pool.
func TestClaimHoldsNoConnectionWhileItCallsTheUser(t *testing.T) {
	s, calls := &connected{memStore: newMemStore()}, 0
	call := func(what string) {
		if calls++; s.open != 0 {
			t.Errorf("%s: %d connections, want none", what, s.open)
		}
	}
	cfg := ownedBy("me")
	cfg.Logger = slog.New(slog.NewTextHandler(handlerFunc(func(record []byte) { call(string(record)) }), nil))
	cfg.AllowUndurable = true
	s.status.Namespace = "orders"
	for i := range 3 { // a namespace is new twice, then the store is another server
		if i < 2 {
			s.meta, s.others = leasestore.Meta{}, map[int]map[string]leasestore.Meta{1: {"users": s.meta}}[i]
		}
		s.status.Identity, s.status.Faults = fmt.Sprint("server ", i), []string{"fsync is off"}[i/2:]
		source := sourceFunc(func() int64 { call("source"); return int64(i) })
		if _, err := Fenced(s, source, cfg).Assign(t.Context(), memDomain()); err != nil && !errors.Is(err, ErrQuarantined) {
			t.Error(err)
		}
	}
	if calls != 3+7 {
		t.Errorf("%d calls, want 3 of the source and 7 of the Logger", calls)
	}
}

// A claim that has other rows to try does not wait for a row that another session has locked.
func TestOnlyClaimsWithOtherRowsAreImpatient(t *testing.T) {
	for want, open := range map[bool]func(leasestore.Store) Assigner{
		true:  func(s leasestore.Store) Assigner { return Leased(s, shortWindow) },
		false: func(s leasestore.Store) Assigner { return Fenced(s, Static(2), ownedBy("me")) },
	} {
		s := &connected{memStore: newMemStore()}
		l, err := open(s).Assign(t.Context(), memDomain())
		testkit.Must(t, err)
		if len(s.impatient) != 1 || s.impatient[0] != want || !l.Grant().Reusable {
			t.Errorf("impatient swaps %v, want %v; %+v, want it reusable", s.impatient, want, l.Grant())
		}
	}
}
