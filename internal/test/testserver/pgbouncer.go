package testserver

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// PgBouncer starts a pgbouncer in front of a PostgreSQL server. It gives each transaction a
// connection of its own to the server. Settings are lines of its configuration.
func PgBouncer(t testing.TB, behind *Server, settings ...string) *Server {
	t.Helper()
	program, ok := find("pgbouncer")
	if !ok {
		missing(t, "pgbouncer", "no pgbouncer", "pgbouncer")
	}
	host, port, _ := strings.Cut(behind.Addr(), ":")
	return start(t, recipe{
		name:    "pgbouncer",
		program: program,
		as:      behind.recipe.as, // it does not run as root either
		prepare: func(s *Server) error {
			config := fmt.Sprintf("[databases]\n* = host=%s port=%s user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %s\n"+
				"unix_socket_dir =\nauth_type = any\npool_mode = transaction\nserver_login_retry = 0.1\n%s\n", host, port, s.port(), strings.Join(settings, "\n"))
			return os.WriteFile(s.path("ini"), []byte(config), 0o644)
		},
		command: func(s *Server) []string { return []string{s.path("ini")} },
		ready:   authenticate,
		dsn:     behind.recipe.dsn,
		stop:    syscall.SIGTERM,
	}, nil)
}
