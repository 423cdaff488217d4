package testserver

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/testkit/process"
)

var starters = map[string]func(testing.TB, ...string) *Server{
	"MariaDB": MariaDB, "PostgreSQL": PostgreSQL, "Redis": Redis, "etcd": Etcd, "NATS": NATS,
	"ZooKeeper": func(t testing.TB, _ ...string) *Server { return ZooKeeper(t) },
}

const childEnv = "UIDRING_TESTSERVER_CHILD"

func TestServerComesBackAfterKillAndStopAndIsGoneAfterTheTest(t *testing.T) {
	for name, starter := range starters {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s *Server
			t.Run("start", func(t *testing.T) {
				s = starter(t)
				comesBack(t, s)
			})
			if s == nil {
				t.Skip("not started")
			}
			if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
				t.Errorf("folder %s is still there: %v", s.dir, err)
			}
			if err := s.recipe.ready(s.Addr()); err == nil {
				t.Error("server still serves")
			}
		})
	}
}

func comesBack(t *testing.T, s *Server) {
	addr := s.Addr()
	for _, down := range []func(){s.Kill9, s.Stop, s.Stop} {
		if err := s.recipe.ready(addr); err != nil {
			t.Fatalf("server does not serve: %v", err)
		}
		down()
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			t.Fatal("server still listens")
		}
		s.Restart()
	}
	if s.Addr() != addr {
		t.Errorf("address %s after restarts, was %s", s.Addr(), addr)
	}
}

// A test process that is killed runs no cleanup. The child below starts a server and waits to be
// killed.
func TestServerDiesWithTheTestProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells a child that its parent has died")
	}
	if ok, _ := process.Role(childEnv, new(string)); ok {
		s := Redis(t)
		fmt.Printf("%s %s\n", s.Addr(), s.dir)
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	if _, ok := find("redis-server", "valkey-server"); !ok {
		missing(t, "Redis", "no redis-server", "redis-server")
	}
	child := process.Play(t, childEnv, "", "-test.run=^"+t.Name()+"$")
	line, err := child.Line()
	addr, dir, ok := strings.Cut(line, " ")
	if err != nil || !ok {
		t.Fatalf("child said %q: %v", line, err)
	}
	defer os.RemoveAll(dir)
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := child.Cmd.Process.Kill(); err != nil { // not child.Kill, which kills the server, too
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("the server outlived the test process: %v", err)
	}
	_ = child.Wait() // killed above
}

// recorder is a test that notes how it was ended.
type recorder struct {
	testing.TB
	ended, text string
}

func (r *recorder) Helper() {}

func (r *recorder) Skipf(format string, args ...any) { r.end("skipped", format, args) }

func (r *recorder) Fatalf(format string, args ...any) { r.end("failed", format, args) }

func (r *recorder) end(how, format string, args []any) {
	r.ended, r.text = how, fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestMissingServerSkipsButFailsInCI(t *testing.T) {
	for _, tt := range []struct{ ci, want string }{
		{"", "skipped"}, {"false", "skipped"}, {"true", "failed"}, {"1", "failed"},
	} {
		t.Setenv("CI", tt.ci)
		r := &recorder{}
		done := make(chan struct{})
		go func() {
			defer close(done)
			missing(r, "Oracle", "no oracled", "oracle-core")
		}()
		<-done
		if want := Missing + " Oracle (no oracled; Debian package oracle-core)"; r.ended != tt.want || r.text != want {
			t.Errorf("CI=%q: %s with %q, want %s with %q", tt.ci, r.ended, r.text, tt.want, want)
		}
	}
}
