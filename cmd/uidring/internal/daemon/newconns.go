package daemon

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// newConns are the connections without a request so far. http.Server.Shutdown reads the first
// request of such a connection and drops it without an answer, so the service waits for them
// before Shutdown.
type newConns struct {
	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

// track is for http.Server.ConnState.
func (n *newConns) track(conn net.Conn, state http.ConnState) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if state != http.StateNew {
		delete(n.conns, conn)
		return
	}
	if n.conns == nil {
		n.conns = make(map[net.Conn]struct{})
	}
	n.conns[conn] = struct{}{}
}

func (n *newConns) none() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.conns) == 0
}

// wait waits until each has sent a request or is closed, or until ctx ends.
func (n *newConns) wait(ctx context.Context) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C: // before none: a connection that just left StateNew needs a moment until Shutdown no longer drops it
		case <-ctx.Done():
			return
		}
		if n.none() {
			return
		}
	}
}
