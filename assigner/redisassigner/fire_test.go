package redisassigner_test

import (
	"errors"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/redisassigner"
	"github.com/uidring/uidring/internal/testkit/faultconn"
	"github.com/uidring/uidring/internal/testkit/poll"
	"github.com/uidring/uidring/internal/testkit/stores"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// overWire returns a store whose connections a test cuts, and another handle on it.
func overWire(t *testing.T, retries int) (w *faultconn.Wire, s, other assigner.Store) {
	t.Helper()
	server := testserver.Redis(t)
	w = new(faultconn.Wire)
	opt := options(server.Addr())
	opt.Dialer, opt.MaxRetries = w.Dial, retries
	return w, redisassigner.LeaseStore(connect(t, opt), namespace), redisassigner.LeaseStore(connect(t, options(server.Addr())), namespace)
}

// The client sends a call again when the connection ends. The second call finds the record of the
// first.
func TestLostAnswerIsGivenAgain(t *testing.T) {
	const owner = "the owner whose answer is lost"
	for _, tt := range []struct {
		retries int
		cut     func(*faultconn.Wire) *faultconn.Cut
		ok      bool
		sent    int // how often the server received the call
	}{
		{3, func(w *faultconn.Wire) *faultconn.Cut { return w.CutAfter(owner, nil) }, true, 2},
		{-1, func(w *faultconn.Wire) *faultconn.Cut { return w.CutBefore(owner) }, false, 0},
		{-1, func(w *faultconn.Wire) *faultconn.Cut { return w.CutAfter(owner, nil) }, false, 1},
	} {
		w, s, _ := overWire(t, tt.retries)
		row := stores.Create(t, s, sample(), time.Hour)
		next := row
		next.Fence, next.Owner = row.Fence+1, owner
		meta := assigner.Meta{Version: 1, Identity: owner}
		for name, swap := range map[string]func() (bool, error){
			"Swap":     func() (bool, error) { return s.Swap(t.Context(), row, next, time.Hour) },
			"SwapMeta": func() (bool, error) { return s.SwapMeta(t.Context(), assigner.Meta{}, meta) },
		} {
			cut := tt.cut(w)
			if ok, err := swap(); ok != tt.ok || (err == nil) != tt.ok || cut.Sent() != tt.sent {
				t.Errorf("%s with %d retries: %v, %v, sent %d times; want %v, sent %d times", name, tt.retries, ok, err, cut.Sent(), tt.ok, tt.sent)
			}
		}
		if tt.sent > 0 {
			row = next
		}
		stores.Want(t, s, row)
	}
}

func TestSwapSentAgainIsRefusedWhereAnotherCameBetween(t *testing.T) {
	w, s, other := overWire(t, 3)
	row := stores.Create(t, s, sample(), time.Hour)
	next, theirs := row, row
	next.Fence, next.Owner = row.Fence+1, "the owner whose answer is lost"
	theirs.Version, theirs.Fence, theirs.Token, theirs.Owner = row.Version+1, row.Fence+2, "theirs", "they"
	cut := w.CutAfter(next.Owner, func() {
		if ok, err := other.Swap(t.Context(), next, theirs, time.Hour); !ok || err != nil {
			t.Errorf("their swap: %v, %v", ok, err)
		}
	})
	if ok, err := s.Swap(t.Context(), row, next, time.Hour); ok || err != nil || cut.Sent() != 2 {
		t.Errorf("Swap that was overtaken: %v, %v, sent %d times; want false, twice", ok, err, cut.Sent())
	}
	stores.Want(t, s, theirs)
}

// raise renews a lease until its limit has risen, which takes a second on a store that forgets.
func raise(t *testing.T, l assigner.Lease) {
	t.Helper()
	before := l.Grant().Limit
	poll.Until(t, "the limit rises", func() bool {
		if err := l.Renew(t.Context(), before, before+1); err != nil {
			t.Fatalf("Renew: %v", err)
		}
		return l.Grant().Limit > before
	})
}

// After a crash, a Redis with default settings has its last snapshot or no data.
func TestHolderNoticesWhatRedisHasForgotten(t *testing.T) {
	t.Parallel()
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
			l, err := sitOut(t, assigner.Leased(redisassigner.LeaseStore(connect(t, options(server.Addr())), namespace), cfg), assignertest.Domain())
			if err != nil {
				t.Fatal(err)
			}
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
			err = renewOnce(t, l)
			if !errors.Is(err, tt.want) || !errors.Is(err, assigner.ErrWorkerRowLost) || l.Grant() != before {
				t.Errorf("Renew: %v, grant %+v; want %v, %+v", err, l.Grant(), tt.want, before)
			}
		})
	}
}

// renewOnce renews over a connection that the server's crash has not ended.
func renewOnce(t *testing.T, l assigner.Lease) (err error) {
	t.Helper()
	poll.Until(t, "a renewal over a new connection", func() bool {
		g := l.Grant()
		err = l.Renew(t.Context(), g.Limit, g.Limit+1)
		return err == nil || errors.Is(err, assigner.ErrWorkerRowLost)
	})
	return err
}
