package testserver

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Dynalite starts a server with the API of DynamoDB. The script takes the arguments of the npm
// package dynalite, which is installed beside it.
func Dynalite(t testing.TB, script string) *Server {
	t.Helper()
	program, ok := find("node")
	script, err := filepath.Abs(script)
	if err == nil {
		_, err = os.Stat(filepath.Join(filepath.Dir(script), "node_modules/dynalite"))
	}
	if !ok || err != nil {
		missing(t, "dynalite", "no node, or no package beside "+script, "nodejs, then make servers")
	}
	return start(t, recipe{
		name:    "dynalite",
		program: program,
		prepare: func(*Server) error { return nil },
		command: func(s *Server) []string {
			return []string{script, "--host", "127.0.0.1", "--port", s.port(), "--path", s.path("data"), "--createTableMs", "0"}
		},
		ready: reachable,
		dsn:   func(addr string) string { return "http://" + addr },
		stop:  syscall.SIGTERM,
	}, nil)
}

func reachable(addr string) error {
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + addr)
	if err != nil {
		return err
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
		return fmt.Errorf("GET /: %s: %w", answer.Status, err)
	}
	return nil
}
