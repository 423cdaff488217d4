package testserver

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// Etcd starts an etcd server, a cluster of one. Arguments are added to the server's command line.
func Etcd(t testing.TB, args ...string) *Server {
	t.Helper()
	addr := FreeAddr(t)
	peer := "http://" + FreeAddr(t, addr)
	return startEtcd(t, addr, "n0", peer, "n0="+peer, healthy, args)
}

// EtcdCluster starts a cluster of n etcd servers, and waits until they serve clients. After a
// Restart call AwaitEtcd.
func EtcdCluster(t testing.TB, n int) []*Server {
	t.Helper()
	var addrs, peers, members []string
	for i := range n {
		addr := FreeAddr(t, addrs...)
		addrs, peers = append(addrs, addr), append(peers, "http://"+addr)
		members = append(members, fmt.Sprintf("n%d=%s", i, peers[i]))
	}
	servers := make([]*Server, n)
	for i, peer := range peers {
		// A member serves no client before there is a leader.
		runs := func(string) error { return serves(peer+"/version", "", "etcdcluster") }
		servers[i] = startEtcd(t, FreeAddr(t, addrs...), fmt.Sprint("n", i), peer, strings.Join(members, ","), runs, nil)
		addrs = append(addrs, servers[i].Addr())
	}
	AwaitEtcd(t, servers...)
	return servers
}

// AwaitEtcd waits until the servers of a cluster have a leader and serve clients.
func AwaitEtcd(t testing.TB, servers ...*Server) {
	t.Helper()
	await(t, healthy, servers)
}

func startEtcd(t testing.TB, addr, name, peer, members string, ready func(addr string) error, args []string) *Server {
	t.Helper()
	program, ok := find("etcd")
	if !ok {
		missing(t, "etcd", "no etcd", "etcd-server")
	}
	return startAt(t, addr, recipe{
		name:    "etcd",
		program: program,
		command: func(s *Server) []string {
			return []string{"--name", name, "--data-dir", s.path("data"),
				"--listen-client-urls", s.DSN(), "--advertise-client-urls", s.DSN(),
				"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", members}
		},
		ready: ready,
		dsn:   func(addr string) string { return "http://" + addr },
		stop:  syscall.SIGTERM,
	}, args)
}

func healthy(addr string) error { return serves("http://"+addr+"/health", "", `"true"`) }
