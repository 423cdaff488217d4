package testserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
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

func TestServerComesBackAfterKillAndStop(t *testing.T) {
	for name, starter := range starters {
		t.Run(name, func(t *testing.T) {
			s := starter(t)
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
		})
	}
}

func TestServersAreGoneAfterTheTest(t *testing.T) {
	for name, starter := range starters {
		t.Run(name, func(t *testing.T) {
			var s *Server
			t.Run("start", func(t *testing.T) { s = starter(t) })
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

func TestArgumentsReachTheServer(t *testing.T) {
	s := Redis(t, "--maxclients", "77")
	if got := redis(t, s.Addr(), "CONFIG GET maxclients"); !strings.Contains(got, "77") {
		t.Errorf("maxclients: %q, want 77", got)
	}
	s.Restart("--maxclients", "78")
	if got := redis(t, s.Addr(), "CONFIG GET maxclients"); !strings.Contains(got, "78") {
		t.Errorf("maxclients after Restart: %q, want 78", got)
	}
}

func TestRedisKeepsWhatItAcknowledgedOverKill(t *testing.T) {
	s := Redis(t)
	for i := range 5 {
		if got, want := redis(t, s.Addr(), "INCR n"), fmt.Sprintf(":%d\r\n", i+1); got != want {
			t.Fatalf("INCR: %q, want %q", got, want)
		}
		s.Kill9()
		s.Restart()
	}
}

// redis sends one command over a connection of its own and returns the answer to it.
func redis(t *testing.T, addr, command string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, command+"\r\nQUIT\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(answer), "+OK\r\n")
}

func TestEtcdKeepsWhatItAcknowledgedOverKill(t *testing.T) {
	s := Etcd(t)
	const key, value = "bg==", "MQ==" // n, 1
	etcd(t, s, "put", map[string]string{"key": key, "value": value})
	s.Kill9()
	s.Restart()
	var got struct {
		Kvs []struct{ Value string }
	}
	if err := json.Unmarshal(etcd(t, s, "range", map[string]string{"key": key}), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Kvs) != 1 || got.Kvs[0].Value != value {
		t.Errorf("read %+v, want one value %s", got, value)
	}
}

func etcd(t *testing.T, s *Server, call string, arguments map[string]string) []byte {
	t.Helper()
	request, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Post(s.DSN()+"/v3/kv/"+call, "application/json", bytes.NewReader(request))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %v\n%s", call, answer.Status, err, body)
	}
	return body
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

func TestNewestInstallationIsFound(t *testing.T) {
	for _, tt := range []struct{ newer, older string }{
		{"/usr/lib/postgresql/15/bin/postgres", "/usr/lib/postgresql/9.6/bin/postgres"},
		{"/opt/homebrew/opt/postgresql@17/bin/postgres", "/opt/homebrew/opt/postgresql@16/bin/postgres"},
		{"/usr/pgsql-16/bin/postgres", "/usr/pgsql-13/bin/postgres"},
	} {
		if newestFirst(tt.newer, tt.older) >= 0 || newestFirst(tt.older, tt.newer) <= 0 {
			t.Errorf("%s does not come before %s", tt.newer, tt.older)
		}
	}
	if path, ok := find("no-such-server"); ok {
		t.Errorf("found %s for a program that does not exist", path)
	}
}
