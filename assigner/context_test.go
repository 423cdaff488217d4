package assigner

import (
	"context"
	"errors"
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

// The source of Fenced may need the only connection of a pool.
func TestClaimHoldsNoConnectionWhileItAsksItsSource(t *testing.T) {
	s := &connected{memStore: newMemStore()}
	source := sourceFunc(func() int64 {
		if s.open != 0 {
			t.Errorf("%d connections, want none", s.open)
		}
		return 2
	})
	_, err := Fenced(s, source, ownedBy("me")).Assign(t.Context(), memDomain())
	testkit.Must(t, err)
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
