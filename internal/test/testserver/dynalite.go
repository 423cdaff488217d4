package testserver

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
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
		command: func(s *Server) []string {
			return []string{script, "--host", "127.0.0.1", "--port", s.port(), "--path", s.path("data"), "--createTableMs", "0"}
		},
		ready: func(addr string) error { return serves("http://"+addr, "", "") },
		dsn:   func(addr string) string { return "http://" + addr },
		stop:  syscall.SIGTERM,
	}, nil)
}
