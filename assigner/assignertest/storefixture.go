package assignertest

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/faultconn"
	"github.com/uidring/uidring/internal/test/testkit"
)

// A StoreFixture is an empty namespace of the store under test.
type StoreFixture struct {
	// Handle opens the namespace, as another process would: handles share no memory. On a cluster
	// successive handles connect to different nodes in turn. Required.
	Handle func() leasestore.Store
	// Other opens another namespace of the same store, empty at first. It has the given name, and
	// with a name that [leasestore.CheckNamespace] rejects all its methods return an error. No name
	// is used by two cases unless it begins with the name of the fixture's namespace. Nil: the
	// store has one namespace only.
	Other func(name string) leasestore.Store
	// Down makes the store unreachable for all handles on the namespace until up is called. The
	// store keeps all acknowledged writes. While it is down, reads may succeed, but writes must
	// fail. Other namespaces may be down as well. Required for RunStore.
	Down func(t *testing.T) (up func())

	// Through opens the namespace with a client whose connections run over a wire, which RunFaults
	// cuts. Nil: the store has no connections.
	Through func(w *Wire) leasestore.Store
	// Kill ends the store's server without warning, as SIGKILL does, and starts it again on the
	// same data. Nil: the store has no server.
	Kill func(t *testing.T)
	// Unreachable is in every error of the store after a cut or while its server is down. Nil: the
	// store has no error of its own for that.
	Unreachable error
}

// A namespace is the store under test of a storeCase.
type namespace struct {
	StoreFixture
	lossy bool
}

// A storeCase is a case of [RunStore] or [RunFaults].
type storeCase struct {
	name string
	run  func(*testing.T, namespace)
}

// RunStore checks an [leasestore.Store]: first its single operations, then leases on it. It calls
// open once, and each case calls it once more; open closes its resources with t.Cleanup.
//
// The settings of the store must be durable, and its server's clock right to a second. The store
// must keep the numbers and texts that [leasestore.Row] and [leasestore.Meta] allow.
func RunStore(t *testing.T, open func(t *testing.T) StoreFixture) {
	runCases(t, open, []storeCase{
		// Single operations.
		{"StatusIsStable", statusStable},
		{"NothingIsThereAtFirst", nothingAtFirst},
		{"RowsComeBackAsWritten", rowsAsWritten},
		{"TextIsKeptWholeOrRefused", textWhole},
		{"MetaIsSwappedByVersionAndToken", metaSwapped},
		{"SwapIsRefusedUnlessAllMatches", swapRefused},
		{"StoresClockSetsTheExpiry", expiry},
		{"ListReturnsAllRowsAndExpiredSome", listed},
		{"SeenIsTheTimeOfTheLastWrite", seenFollowsWrites},
		{"EndedContextChangesNothing", endedChangesNothing},
		// Operations of several handles.
		{"OneOfManySwapsWins", oneWins},
		{"EqualSwapsAtOnceAllCount", equalAtOnce},
		{"EveryHandleSeesAWriteAtOnce", seenByAll},
		{"ListDuringSwapsLacksNoRow", long(listDuringSwaps)},
		// Several namespaces, and the creation of rows in bulk.
		{"NamespacesAreApart", namespacesApart},
		{"NamesThatAreNotAllowedAreRefused", namesRefused},
		{"OneOfTheNamespacesThatLookAlikeWins", namesAlike},
		{"FreeRowsAreCreatedAtOnce", createFree},
		// Leases: the calls of the store that a lease makes, in their order.
		{"FirstStartsAtOnceSucceed", firstStarts},
		{"NextHolderOfARowIsAboveItsFence", nextHolders},
		{"OutageEndsNoLeaseAndNoStart", long(outageBridged)},
	})
}

// RunFaults checks an [leasestore.Store] whose connections are cut and whose server is killed. It
// needs the fields Through and Kill of the fixture and skips the cases for which one is nil. It
// calls open as [RunStore] does.
//
// A client may send a call again when its connection ends. Without an answer the store returns an
// error or the truth, and never reports false for a swap that took effect.
func RunFaults(t *testing.T, open func(t *testing.T) StoreFixture) {
	runCases(t, open, []storeCase{
		{"CutSwapIsNeverFalse", throughWire(cutSwaps)},
		{"OvertakenSwapIsNotMadeAgain", throughWire(overtaken)},
		{"SwapGivenUpIsAnError", throughWire(givenUp)},
		{"CutReadIsAnError", throughWire(cutReads)},
		{"KilledStoreForgetsNoSwap", killedUnderSwaps},
	})
}

func runCases(t *testing.T, open func(t *testing.T) StoreFixture, cases []storeCase) {
	lossy := status(t, open(t).Handle()).Lossy
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.run(t, namespace{open(t), lossy}) })
	}
}

// long leaves out of short tests a case that waits for seconds.
func long(run func(*testing.T, namespace)) func(*testing.T, namespace) {
	return func(t *testing.T, n namespace) {
		if testing.Short() {
			t.Skip("waits for seconds")
		}
		run(t, n)
	}
}

// A Wire carries the connections of a client, and [RunFaults] cuts them: when the client sends a
// row with a certain owner, or a meta row with a certain Meta.Namespace. These texts must be on the
// wire as they are, so a client with encrypted connections passes the decrypted side to Wrap.
type Wire struct{ wire faultconn.Wire }

// Wrap returns a connection that carries the data of conn over the wire. It is for clients that let
// their user open connections.
func (w *Wire) Wrap(conn net.Conn) net.Conn { return w.wire.Wrap(conn) }

// Dial opens a connection over the wire. It fits the dial hook of most clients.
func (w *Wire) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return w.wire.Dial(ctx, network, addr)
}

// Proxy listens at the address that it returns, and carries connections over the wire to target. It
// is for clients without a dial hook.
func (w *Wire) Proxy(t *testing.T, target string) (addr string) {
	t.Helper()
	return w.wire.Proxy(t, target).Addr()
}

// cut cuts the next connection on which marker is sent: before the data reaches the server, or when
// the server has answered and seen reports the effect.
func (w *Wire) cut(t *testing.T, before bool, marker string, seen func() bool) *faultconn.Cut {
	if before {
		return w.wire.CutBefore(marker)
	}
	return w.wire.CutAfter(marker, func() {
		ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
		defer cancel()
		for !seen() {
			if !testkit.Pause(ctx, 5*time.Millisecond) {
				t.Errorf("the server does not show the effect of the call with %q", marker)
				return
			}
		}
	})
}
