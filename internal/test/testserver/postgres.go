package testserver

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// PostgreSQL starts a PostgreSQL server whose superuser postgres needs no password from this host.
// Arguments are added to the server's command line, such as "-c", "fsync=off". PostgreSQL refuses
// to run as root: for root it runs as the user postgres, or else as another unprivileged user.
func PostgreSQL(t testing.TB, args ...string) *Server {
	t.Helper()
	program, ok := find("postgres")
	if !ok {
		missing(t, "PostgreSQL", "no postgres", "postgresql")
	}
	var as *account
	if os.Geteuid() == 0 {
		if as, ok = lookupAccount("postgres", "nobody"); !ok || runtime.GOOS != "linux" {
			missing(t, "PostgreSQL", "it does not run as root, and cannot be run as another user", "postgresql")
		}
	}
	return start(t, recipe{
		name:    "PostgreSQL",
		program: program,
		as:      as,
		prepare: func(s *Server) error {
			return s.run(nil, filepath.Join(filepath.Dir(program), "initdb"), "-D", s.path("data"),
				"-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync")
		},
		command: func(s *Server) []string {
			return []string{"-D", s.path("data"), "-h", "127.0.0.1", "-p", s.port(), "-k", s.dir,
				"-c", "max_connections=500"} // for tests with a hundred handles
		},
		ready: authenticate,
		dsn:   func(addr string) string { return "postgres://postgres@" + addr + "/postgres?sslmode=disable" },
		stop:  syscall.SIGINT,
	}, args)
}

// authenticate sends the message that opens a session. The answer begins with R when the user is
// let in, and with E while the server is starting.
func authenticate(addr string) error {
	const parameters = "user\x00postgres\x00database\x00postgres\x00\x00"
	message := binary.BigEndian.AppendUint32(nil, 8+uint32(len(parameters)))
	message = binary.BigEndian.AppendUint32(message, 3<<16) // protocol 3.0
	return dialed(addr, func(conn net.Conn) error {
		if _, err := conn.Write(append(message, parameters...)); err != nil {
			return err
		}
		var kind [1]byte
		_, err := io.ReadFull(conn, kind[:])
		if err == nil && kind[0] != 'R' {
			err = fmt.Errorf("answer %q to the start of a session", kind[0])
		}
		return err
	})
}
