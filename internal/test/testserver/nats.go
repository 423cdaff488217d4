package testserver

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
)

// NATS starts a NATS server with JetStream that syncs each write to its disk before it answers.
// Arguments are added to the server's command line.
func NATS(t testing.TB, args ...string) *Server {
	t.Helper()
	return startNATS(t, FreeAddr(t), args)
}

// NATSCluster starts a cluster of n NATS servers. The cluster may elect its leaders after
// NATSCluster has returned.
func NATSCluster(t testing.TB, n int) []*Server {
	t.Helper()
	var addrs, routes []string
	for range n {
		addr := FreeAddr(t, addrs...)
		addrs, routes = append(addrs, addr), append(routes, "nats://"+addr)
	}
	servers := make([]*Server, n)
	for i := range servers {
		servers[i] = startNATS(t, FreeAddr(t, addrs...), []string{"--server_name", fmt.Sprint("n", i),
			"--cluster_name", "c", "--cluster", routes[i], "--routes", strings.Join(routes, ",")})
		addrs = append(addrs, servers[i].Addr())
	}
	return servers
}

func startNATS(t testing.TB, addr string, args []string) *Server {
	t.Helper()
	program, ok := find("nats-server")
	if !ok {
		missing(t, "NATS", "no nats-server", "none, make servers builds it")
	}
	return startAt(t, addr, recipe{
		name:    "NATS",
		program: program,
		prepare: func(s *Server) error {
			text := fmt.Sprintf("jetstream { store_dir: %q, sync_interval: always }\n", s.path("data"))
			return os.WriteFile(s.path("conf"), []byte(text), 0o600)
		},
		command: func(s *Server) []string { return []string{"-c", s.path("conf"), "-a", "127.0.0.1", "-p", s.port()} },
		ready:   informed,
		dsn:     func(addr string) string { return "nats://" + addr },
		stop:    syscall.SIGTERM,
	}, args)
}

// informed reads the line that a NATS server opens with.
func informed(addr string) error {
	return dialed(addr, func(conn net.Conn) error {
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err == nil && !strings.Contains(line, `"jetstream":true`) {
			err = fmt.Errorf("greeting without JetStream: %s", line)
		}
		return err
	})
}
