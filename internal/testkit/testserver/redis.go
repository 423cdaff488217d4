package testserver

import (
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

// Redis starts a Redis server that writes each command to its append-only file before it answers.
// Arguments are added to the server's command line, such as "--appendonly", "no".
func Redis(t testing.TB, args ...string) *Server {
	t.Helper()
	program, ok := find("redis-server", "valkey-server")
	if !ok {
		missing(t, "Redis", "no redis-server", "redis-server")
	}
	return start(t, recipe{
		name:    "Redis",
		program: program,
		prepare: func(*Server) error { return nil },
		command: func(s *Server) []string {
			return []string{"--port", s.port(), "--bind", "127.0.0.1", "--dir", s.dir,
				"--save", "", "--appendonly", "yes", "--appendfsync", "always"}
		},
		ready: ping,
		dsn:   func(addr string) string { return "redis://" + addr + "/0" },
		stop:  syscall.SIGTERM,
	}, args)
}

// ping is answered with an error while Redis loads its data.
func ping(addr string) error {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return err
	}
	var answer [5]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return err
	}
	if string(answer[:]) != "+PONG" {
		return fmt.Errorf("answer %q to PING", answer[:])
	}
	return nil
}
