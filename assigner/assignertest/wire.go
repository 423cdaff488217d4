package assignertest

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/faultconn"
)

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
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for !seen() {
			if !pause(ctx, 5*time.Millisecond) {
				t.Errorf("the server does not show the effect of the call with %q", marker)
				return
			}
		}
	})
}
