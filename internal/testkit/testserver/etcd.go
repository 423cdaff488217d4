package testserver

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
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
		ready: healthy,
		dsn:   func(addr string) string { return "http://" + addr },
		stop:  syscall.SIGTERM,
	}, args)
}

func healthy(addr string) error {
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + addr + "/health")
	if err != nil {
		return err
	}
	body, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK || !strings.Contains(string(body), `"true"`) {
		return fmt.Errorf("health: %s: %s", answer.Status, body)
	}
	return nil
}
