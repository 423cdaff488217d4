package assignertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
)

// doubtCases are cases with swaps that get no answer, and servers that may have forgotten commits.
func doubtCases() []storeCase {
	return []storeCase{
		{name: "AmbiguousSwapIsReadAgain", run: ambiguousSwap},
		{name: "AmbiguousSwapOfTheMetaRowWastesNoWorker", run: ambiguousMeta},
		{name: "AnotherIdentityIsQuarantined", run: anotherIdentity},
	}
}

// A mute store makes or loses its swaps of rows or of the meta row, and returns an error in both
// cases.
type mute struct {
	assigner.Store
	meta  bool
	loses bool
}

var errMute = errors.New("connection lost")

func (m mute) Swap(ctx context.Context, old, next assigner.Row, ttl time.Duration) (bool, error) {
	return m.answer(!m.meta, func() (bool, error) { return m.Store.Swap(ctx, old, next, ttl) })
}

func (m mute) SwapMeta(ctx context.Context, old, next assigner.Meta) (bool, error) {
	return m.answer(m.meta, func() (bool, error) { return m.Store.SwapMeta(ctx, old, next) })
}

func (m mute) answer(affected bool, swap func() (bool, error)) (bool, error) {
	switch {
	case !affected:
		return swap()
	case m.loses:
		return false, errMute
	}
	_, err := swap()
	return false, errors.Join(errMute, err)
}

func ambiguousSwap(t *testing.T, n namespace) {
	l := assign(t, assigner.Leased(mute{Store: n.Handle()}, n.config()))
	if row := n.row(t, l); row.Fence != l.Grant().Limit {
		t.Errorf("fence %d, limit %d", row.Fence, l.Grant().Limit)
	}
	n.raise(t, l)
	if row := n.row(t, l); row.Fence != l.Grant().Limit {
		t.Errorf("fence %d after Renew, limit %d", row.Fence, l.Grant().Limit)
	}
	release(t, l)
	if row := n.row(t, l); row.Token != "" {
		t.Errorf("row %+v has not been released", row)
	}

	loses := mute{Store: n.Handle(), loses: true}
	if _, err := tryAssign(t, assigner.Fenced(loses, 99, "x", n.config()), Domain()); !errors.Is(err, errMute) {
		t.Errorf("Assign with a swap that did not take effect: %v, want the store's error", err)
	}
	if row := load(t, n.Handle(), 99); row != (assigner.Row{}) {
		t.Errorf("row %+v, want none", row)
	}
}

func ambiguousMeta(t *testing.T, n namespace) {
	first := assign(t, n.auto())
	second := assign(t, assigner.Auto(mute{Store: n.Handle(), meta: true}, n.config()), first)
	loses := assigner.Auto(mute{Store: n.Handle(), meta: true, loses: true}, n.config())
	if _, err := tryAssign(t, loses, Domain(), first, second); !errors.Is(err, errMute) {
		t.Errorf("Assign with a swap of the meta row that did not take effect: %v, want the store's error", err)
	}
	third := assign(t, n.auto(), first, second)
	for i, l := range []assigner.Lease{first, second, third} {
		if w := l.Grant().WorkerID; w != int64(i) {
			t.Errorf("start %d has worker %d, want %d: none is wasted", i, w, i)
		}
	}
	if next := loadMeta(t, n.Handle()).NextWorkerID; next != 3 {
		t.Errorf("next worker %d, want 3", next)
	}
}

// A server is a store with a given identity.
type server struct {
	assigner.Store
	identity string
}

func (s server) Status(ctx context.Context) (assigner.Status, error) {
	st, err := s.Store.Status(ctx)
	st.Identity = s.identity
	return st, err
}

// anotherIdentity checks rows that were claimed on a server with another identity: the present
// server may have an earlier state.
func anotherIdentity(t *testing.T, n namespace) {
	cfg, d := assigner.LeaseConfig{Window: quickWindow, MaxSkew: 2 * clockBound}, quickDomain(t)
	if n.lossy {
		cfg = n.config()
	}
	at := func(identity string) assigner.Store { return server{n.Handle(), identity} }
	on := func(identity string) assigner.Assigner { return assigner.Leased(at(identity), cfg) }
	old := assignIn(t, on("before"), d)
	if row := n.row(t, old); row.Identity != "before" {
		t.Errorf("row %+v, want the server's identity, before", row)
	}
	release(t, old)
	worker := old.Grant().WorkerID
	a := on("after")
	if q := quarantined(t, a, cfg, d); q.WorkerID != worker {
		t.Fatalf("worker %d in quarantine, want %d", q.WorkerID, worker)
	}
	// Neither the same assigner nor another one ends it early.
	if q := quarantined(t, a, cfg, d); q.WorkerID != worker {
		t.Errorf("worker %d in quarantine, want %d still", q.WorkerID, worker)
	}
	if q := quarantined(t, on("after"), cfg, d); q.WorkerID == worker {
		t.Errorf("worker %d in quarantine twice", q.WorkerID)
	}
	again := assignIn(t, a, d)
	wantAbove(t, old.Grant(), again.Grant())
	if row := n.row(t, again); row.Identity != "after" || row.Fence != again.Grant().Limit {
		t.Errorf("row %+v, want the server's identity, after, and fence %d", row, again.Grant().Limit)
	}
	if n.lossy {
		return
	}
	// After the quarantine neither this row nor a new worker ID needs another one on this server.
	release(t, again)
	for _, a := range []assigner.Assigner{on("after"), assigner.Auto(at("after"), cfg)} {
		ctx, cancel := bounded(t)
		if _, err := a.Assign(ctx, d); err != nil {
			t.Errorf("Assign after the quarantine: %v", err)
		}
		cancel()
	}
}

// quarantined checks that an assigner has taken a worker ID and holds it in quarantine.
func quarantined(t *testing.T, a assigner.Assigner, cfg assigner.LeaseConfig, d assigner.Domain) *assigner.QuarantineError {
	t.Helper()
	ctx, cancel := bounded(t)
	defer cancel()
	l, err := a.Assign(ctx, d)
	q, ok := errors.AsType[*assigner.QuarantineError](err)
	if l != nil || !ok || !errors.Is(err, assigner.ErrQuarantined) {
		t.Fatalf("Assign: %v, %v; want ErrQuarantined", l, err)
	}
	if most := 4*cfg.Window + cfg.MaxSkew + d.Layout.Unit; q.Remaining <= 0 || q.Remaining > most {
		t.Errorf("quarantine of %v, want up to %v", q.Remaining, most)
	}
	return q
}
