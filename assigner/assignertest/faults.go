package assignertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
)

// RunFaults checks an [leasestore.Store] whose connections are cut and whose server is killed. It
// needs the fields Through and Kill of the fixture and skips the cases for which one is nil. It
// calls open as [RunStore] does.
//
// A client may send a call again when its connection ends. Without an answer the store returns an
// error or the truth, and never reports false for a swap that took effect.
func RunFaults(t *testing.T, open func(t *testing.T) StoreFixture) {
	f := open(t)
	if f.Through == nil && f.Kill == nil {
		t.Fatal("the fixture has neither Through nor Kill")
	}
	runCases(t, open, status(t, f.Handle()).Lossy, []storeCase{
		{"CutSwapIsNeverFalse", throughWire(cutSwaps)},
		{"OvertakenSwapIsNotMadeAgain", throughWire(overtaken)},
		{"SwapGivenUpIsAnError", throughWire(givenUp)},
		{"CutReadIsAnError", throughWire(cutReads)},
		{"KilledStoreForgetsNoSwap", killedUnderSwaps},
	})
}

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
		run(t, link{n, w, n.Through(w), n.Handle()})
	}
}

// warm makes calls over the wire that change nothing, since a client may send more with its first
// calls: the text of a script or of a prepared statement.
func (l link) warm(t *testing.T) {
	t.Helper()
	none, noMeta := sampleRow(1), sampleMeta()
	if swap(t, l.store, none, none, time.Hour) || swapMeta(t, l.store, noMeta, noMeta) {
		t.Fatal("a swap of a row that does not exist took effect")
	}
}

// wantUnreachable checks the sentinel of an error, if there is an error.
func (n namespace) wantUnreachable(t *testing.T, err error) {
	t.Helper()
	if err != nil && n.Unreachable != nil && !errors.Is(err, n.Unreachable) {
		t.Errorf("%v, want %v", err, n.Unreachable)
	}
}

// A cutCall is a swap of a row or of the meta row whose connection is cut.
type cutCall struct {
	marker string
	swap   func(context.Context) (bool, error)
	done   func() bool // whether the store has the effect
}

// cutSwaps cuts swaps and creations of rows and of the meta row.
func cutSwaps(t *testing.T, l link) {
	l.warm(t)
	var row leasestore.Row
	var meta leasestore.Meta
	for i := range 6 {
		before := i%2 == 0
		next, nextMeta := sampleRow(7), sampleMeta()
		next.Fence += int64(i)
		next.Owner = fmt.Sprint("the-owner-whose-connection-is-cut-", i)
		nextMeta.Version += int64(i)
		nextMeta.Namespace = fmt.Sprint("the-meta-row-whose-connection-is-cut-", i)
		rowDone := func() bool { return load(t, l.direct, 7).Owner == next.Owner }
		metaDone := func() bool { return loadMeta(t, l.direct).Namespace == nextMeta.Namespace }
		l.cutCall(t, before, cutCall{next.Owner, func(ctx context.Context) (bool, error) {
			return l.store.Swap(ctx, row, next, time.Hour)
		}, rowDone})
		l.cutCall(t, before, cutCall{nextMeta.Namespace, func(ctx context.Context) (bool, error) {
			return l.store.SwapMeta(ctx, meta, nextMeta)
		}, metaDone})
		if rowDone() {
			row = next
		}
		if metaDone() {
			meta = nextMeta
		}
	}
}

// cutCall makes a call whose connection is cut, and compares its result with the store.
func (l link) cutCall(t *testing.T, before bool, c cutCall) {
	t.Helper()
	cut := l.wire.cut(t, before, c.marker, c.done)
	ctx, cancel := bounded(t)
	defer cancel()
	ok, err := c.swap(ctx)
	if !cut.Done() {
		t.Fatalf("the client did not send %q over the wire, or not as it is", c.marker)
	}
	if took := c.done(); ok && !took || !ok && err == nil || took && cut.Sent() == 0 {
		t.Errorf("cut before: %v, swap: %v, %v, and it took effect: %v; want an error or true", before, ok, err, took)
	}
	if ok && err != nil {
		t.Errorf("swap: true and the error %v", err)
	}
	l.wantUnreachable(t, err)
}

// overtaken lets another process swap the row between a swap and its lost answer. A client that
// sends the swap again must not undo the other one.
func overtaken(t *testing.T, l link) {
	l.warm(t)
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
	l.warm(t)
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
	row, free, meta := sampleRow(7), sampleRow(8), sampleMeta()
	create(t, l.store, row)
	createMeta(t, l.store, meta)
	if !swap(t, l.store, leasestore.Row{}, free, 0) {
		t.Fatal("the free row was not created")
	}
	identity := status(t, l.store).Identity
	reads := map[string]func(context.Context) (any, bool, error){
		"Status": func(ctx context.Context) (any, bool, error) {
			got, err := l.store.Status(ctx)
			return got, got.Identity == identity && !got.Now.IsZero(), err
		},
		"LoadMeta": func(ctx context.Context) (any, bool, error) {
			got, err := l.store.LoadMeta(ctx)
			return got, got.Same(meta), err
		},
		"Load": func(ctx context.Context) (any, bool, error) {
			got, err := l.store.Load(ctx, 7)
			return got, got.Same(row), err
		},
		"List": func(ctx context.Context) (any, bool, error) {
			got, err := l.store.List(ctx)
			return got, len(got) == 2, err
		},
		"Expired": func(ctx context.Context) (any, bool, error) {
			got, err := l.store.Expired(ctx, 2)
			return got, len(got) == 1, err
		},
	}
	for name, read := range reads {
		up := l.wire.wire.Down()
		ctx, cancel := context.WithTimeout(t.Context(), outage)
		if got, right, err := read(ctx); err == nil && !right {
			t.Errorf("%s over a cut connection: %+v without an error", name, got)
		}
		cancel()
		up()
		insist(t, name, func(ctx context.Context) error {
			got, right, err := read(ctx)
			if err == nil && !right {
				t.Errorf("%s after the cut: %+v", name, got)
			}
			return err
		})
	}
}
