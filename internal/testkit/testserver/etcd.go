package testserver

import (
	"syscall"
	"testing"
)

// Etcd starts an etcd server, a cluster of one. Arguments are added to the server's command line.
func Etcd(t testing.TB, args ...string) *Server {
	t.Helper()
	program, ok := find("etcd")
	if !ok {
		missing(t, "etcd", "no etcd", "etcd-server")
	}
	peer := ""
	return start(t, recipe{
		name:    "etcd",
		program: program,
		prepare: func(s *Server) error {
			addr, err := freeAddr()
			for err == nil && addr == s.addr {
				addr, err = freeAddr()
			}
			peer = "http://" + addr
			return err
		},
		command: func(s *Server) []string {
			return []string{"--name", "n0", "--data-dir", s.path("data"),
				"--listen-client-urls", s.DSN(), "--advertise-client-urls", s.DSN(),
				"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "n0=" + peer}
		},
		ready: func(addr string) error { return serves("http://"+addr+"/health", "", `"true"`) },
		dsn:   func(addr string) string { return "http://" + addr },
		stop:  syscall.SIGTERM,
	}, args)
}
