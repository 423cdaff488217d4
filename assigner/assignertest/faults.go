package assignertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/testkit"
)

// A link is a store over a wire, with a handle beside it.
type link struct {
	namespace
	wire   *Wire
	store  leasestore.Store
	direct leasestore.Store
}

// throughWire returns a case on a link.
func throughWire(run func(*testing.T, link)) func(*testing.T, namespace) {
	return func(t *testing.T, n namespace) {
		if n.Through == nil {
			t.Skip("the store has no connections")
		}
		w := new(Wire)
		l := link{n, w, n.Through(w), n.Handle()}
		// A client may send more with its first calls: the text of a script or of a prepared
		// statement.
		none, noMeta := sampleRow(1), sampleMeta()
		if swap(t, l.store, none, none, time.Hour) || swapMeta(t, l.store, noMeta, noMeta) {
			t.Fatal("a swap of a row that does not exist took effect")
		}
		run(t, l)
	}
}

// wantUnreachable checks the sentinel of an error, if there is an error.
func (n namespace) wantUnreachable(t *testing.T, err error) {
	t.Helper()
	if err != nil && n.Unreachable != nil && !errors.Is(err, n.Unreachable) {
		t.Errorf("%v, want %v", err, n.Unreachable)
	}
}

// cutSwaps cuts swaps and creations of rows and of the meta row, before they reach the server and
// before its answer reaches the client.
func cutSwaps(t *testing.T, l link) {
	var row leasestore.Row
	var meta leasestore.Meta
	for i := range 6 {
		next, nextMeta := sampleRow(7), sampleMeta()
		next.Fence += int64(i)
		next.Owner = fmt.Sprint("the-owner-whose-connection-is-cut-", i)
		nextMeta.Version += int64(i)
		nextMeta.Namespace = fmt.Sprint("the-meta-row-whose-connection-is-cut-", i)
		if l.cutCall(t, i%2 == 0, next.Owner, func(ctx context.Context) (bool, error) {
			return l.store.Swap(ctx, row, next, time.Hour)
		}, func() bool { return load(t, l.direct, 7).Owner == next.Owner }) {
			row = next
		}
		if l.cutCall(t, i%2 == 0, nextMeta.Namespace, func(ctx context.Context) (bool, error) {
			return l.store.SwapMeta(ctx, meta, nextMeta)
		}, func() bool { return loadMeta(t, l.direct).Namespace == nextMeta.Namespace }) {
			meta = nextMeta
		}
	}
}

// cutCall makes a swap with a marker whose connection is cut, compares its result with the store,
// and reports whether the swap took effect.
func (l link) cutCall(t *testing.T, before bool, marker string, f func(context.Context) (bool, error), done func() bool) (took bool) {
	t.Helper()
	cut := l.wire.cut(t, before, marker, done)
	ctx, cancel := bounded(t)
	defer cancel()
	ok, err := f(ctx)
	if !cut.Done() {
		t.Fatalf("the client did not send %q over the wire, or not as it is", marker)
	}
	took = done()
	if ok && !took || ok == (err != nil) {
		t.Errorf("cut before: %v, swap: %v, %v, and it took effect: %v; want an error or true", before, ok, err, took)
	}
	l.wantUnreachable(t, err)
	return took
}

// overtaken lets another process swap the row between a swap and its lost answer. A client that
// sends the swap again must not undo the other one.
func overtaken(t *testing.T, l link) {
	row := sampleRow(7)
	create(t, l.store, row)
	mine, theirs := row, row
	mine.Fence, mine.Owner = row.Fence+1, "the-owner-whose-connection-is-cut"
	theirs.Version, theirs.Fence, theirs.Token, theirs.Owner = row.Version+1, row.Fence+2, "theirs", "they"
	l.wire.cut(t, false, mine.Owner, func() bool { return swap(t, l.direct, mine, theirs, time.Hour) })
	ctx, cancel := bounded(t)
	defer cancel()
	_, err := l.store.Swap(ctx, row, mine, time.Hour)
	l.wantUnreachable(t, err)
	wantRow(t, l.direct, theirs)
}

// givenUp lets the context of a swap end while the answer is under way.
func givenUp(t *testing.T, l link) {
	row := sampleRow(7)
	create(t, l.store, row)
	next := row
	next.Fence, next.Owner = row.Fence+1, "the-owner-that-gives-up"
	returned := make(chan struct{})
	l.wire.wire.CutAfter(next.Owner, func() {
		select {
		case <-returned:
		case <-time.After(2 * outageSlack):
		}
	})
	var ok bool
	_ = failsSoon(t, "Swap whose answer is under way", func(ctx context.Context) (err error) {
		defer close(returned)
		ok, err = l.store.Swap(ctx, row, next, time.Hour)
		return err
	})
	if ok {
		t.Error("Swap reported true for a swap that it gave up")
	}
	// It may take effect late, in whole or not at all.
	if found := load(t, l.direct, 7); !found.Same(row) && !found.Same(next) {
		t.Errorf("row %+v, want %+v or %+v", found, row, next)
	}
}

// cutReads reads while connections are cut. A reader that takes an unread row for a missing one
// would claim its worker ID again.
func cutReads(t *testing.T, l link) {
	row, meta := sampleRow(7), sampleMeta()
	if !swap(t, l.store, leasestore.Row{}, row, 0) {
		t.Fatal("the expired row was not created")
	}
	createMeta(t, l.store, meta)
	identity := status(t, l.store).Identity
	only := func(rows []leasestore.Row, err error) (bool, error) { return len(rows) == 1 && rows[0].Same(row), err }
	for name, read := range map[string]func(context.Context) (right bool, err error){
		"Status": func(ctx context.Context) (bool, error) {
			got, err := l.store.Status(ctx)
			return got.Identity == identity && !got.Now.IsZero(), err
		},
		"LoadMeta": func(ctx context.Context) (bool, error) {
			got, err := l.store.LoadMeta(ctx)
			return got.Same(meta), err
		},
		"Load": func(ctx context.Context) (bool, error) {
			got, err := l.store.Load(ctx, 7)
			return got.Same(row), err
		},
		"List":    func(ctx context.Context) (bool, error) { return only(l.store.List(ctx)) },
		"Expired": func(ctx context.Context) (bool, error) { return only(l.store.Expired(ctx, 2)) },
	} {
		checked := func(ctx context.Context) error {
			right, err := read(ctx)
			if err == nil && !right {
				t.Errorf("%s during or after a cut: a wrong result without an error", name)
			}
			return err
		}
		up := l.wire.wire.Down()
		ctx, cancel := context.WithTimeout(t.Context(), outage)
		_ = checked(ctx)
		cancel()
		up()
		insist(t, name, checked)
	}
}

// killedUnderSwaps raises fences of a row for each writer while the server is killed, and compares
// the rows with the acknowledged swaps.
func killedUnderSwaps(t *testing.T, n namespace) {
	if n.Kill == nil {
		t.Skip("the store has no server")
	}
	const writers, kills, between = 4, 4, 15 // between: the swaps of each writer between two kills
	stop, wrote := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	var rows [writers]leasestore.Row
	for i := range rows {
		s, row := n.Handle(), &rows[i]
		*row = sampleRow(int64(i))
		create(t, s, *row)
		wg.Go(func() {
			for {
				*row = n.raiseDuringKills(t, s, *row)
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
	for _, row := range rows {
		wantRow(t, n.Handle(), row)
	}
}

// raiseDuringKills raises the fence of a row, and returns the row as the store has it. Without an
// answer it reads the row until the server is back.
func (n namespace) raiseDuringKills(t *testing.T, s leasestore.Store, row leasestore.Row) leasestore.Row {
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
	found, err := s.Load(ctx, row.WorkerID)
	for err != nil && testkit.Pause(ctx, 20*time.Millisecond) {
		found, err = s.Load(ctx, row.WorkerID)
	}
	if err != nil || !found.Same(row) && !found.Same(next) {
		t.Errorf("row %+v, %v; acknowledged was %+v", found, err, row)
	}
	found.Expires = time.Time{}
	return found
}
