package zkassigner

import "github.com/go-zookeeper/zk"

// HostProvider returns the servers of one client by name, for zk.WithHostProvider. The client's own
// provider resolves the names once: it finds no server under a new address, and TLS cannot check
// the name.
func HostProvider() zk.HostProvider { return new(inTurn) }

// inTurn hands out the servers to connect to, for the one goroutine of the client that connects.
type inTurn struct {
	servers []string
	next    int
	tried   int // since the last connection
}

// Init keeps the servers, which the client has shuffled.
func (h *inTurn) Init(servers []string) error {
	h.servers = servers
	return nil
}

func (h *inTurn) Len() int { return len(h.servers) }

// Next returns the next server. all reports that each one was tried since the last connection: the
// client then waits for a second.
func (h *inTurn) Next() (server string, all bool) {
	server, all = h.servers[h.next], h.tried > 0 && h.tried%len(h.servers) == 0
	h.next = (h.next + 1) % len(h.servers)
	h.tried++
	return server, all
}

func (h *inTurn) Connected() { h.tried = 0 }
