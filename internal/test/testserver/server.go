// Package testserver starts private servers for tests: databases, stores of keys and values, and
// the Kubernetes API.
//
// Every server keeps its data in its own temporary folder, and listens on a free loopback port. It
// stops at the end of the test that started it; on Linux it does not outlive the test process. The
// package neither starts nor touches system services, and reads no settings of the machine.
//
// If the program of a server is not installed, the test is skipped with a line that begins with
// "testserver: missing:", so that a run can list the skipped tests. With CI=true in the environment
// the test fails instead: a skip would look like a success there.
package testserver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/httpcall"
	"github.com/uidring/uidring/internal/test/process"
	"github.com/uidring/uidring/internal/test/testkit"
)

const (
	// stopTimeout is how long a server may take to stop by itself before it is killed.
	stopTimeout = 20 * time.Second
	// pollInterval is the pause between two looks at a server that is not ready yet.
	pollInterval = 20 * time.Millisecond
)

// A Server is a private server. Call its methods from the goroutine of the test that started it.
// They fail that test on errors.
type Server struct {
	t       testing.TB
	kind    kind
	program string // absolute path
	dir     string // holds data, log and sockets; owned by the user that the server runs as
	addr    string
	args    []string         // arguments of the test, after the kind's
	proc    *process.Process // nil while the server is down
}

// A kind describes how to run servers of a kind.
type kind struct {
	name     string
	programs []string                 // the first that is installed runs
	needs    string                   // another file that must be installed; may be empty
	apt      string                   // the Debian package that has them
	as       *account                 // nil: run as the user of the test
	prepare  func(s *Server)          // fills the data folder, once; may be nil
	conf     func(s *Server) string   // text of the file conf; may be nil
	command  func(s *Server) []string // arguments of the program
	ready    func(addr string) error  // nil when the server at addr is up
	serves   func(addr string) error  // nil when it serves clients; a nil func: when it is up
	url      string                   // for clients, with %s for the address
	stop     syscall.Signal           // asks for an orderly end without waiting for clients; 0: SIGTERM
}

// start prepares and starts a server on a free port, and has the test stop it in the end. It skips
// a test that is to be short.
func start(t testing.TB, k kind, args []string) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("short tests start no server")
	}
	program, ok := find(k.programs...)
	if _, err := os.Stat(k.needs); !ok || k.needs != "" && err != nil {
		missing(t, k.name, k.apt)
	}
	s := &Server{t: t, kind: k, program: program, addr: FreeAddr(t), args: args}
	s.makeDir()
	t.Cleanup(func() {
		s.Kill9()
		if err := os.RemoveAll(s.dir); err != nil {
			t.Errorf("testserver: %s: %v", k.name, err)
		}
	})
	if k.conf != nil {
		testkit.Must(t, os.WriteFile(s.path("conf"), []byte(k.conf(s)), 0o644))
	}
	if k.prepare != nil {
		k.prepare(s)
	}
	s.up()
	return s
}

// makeDir makes the server's folder. Its parents have to be passable for the user that the server
// runs as, which a TMPDIR below a home folder is not; hence /tmp for another user.
func (s *Server) makeDir() {
	parent, as := os.TempDir(), s.kind.as
	if as != nil {
		parent = "/tmp"
	}
	var err error
	s.dir, err = os.MkdirTemp(parent, "uidring-")
	testkit.Must(s.t, err)
	if as != nil {
		testkit.Must(s.t, errors.Join(os.Chmod(s.dir, 0o755), os.Chown(s.dir, as.uid, as.gid)))
	}
}

// Addr returns host and port, "127.0.0.1:40123". They stay the same over restarts.
func (s *Server) Addr() string { return s.addr }

// DSN returns the address for clients: for MariaDB and MySQL a DSN of go-sql-driver/mysql (user
// root, no password, database uidring), for the others a URL.
func (s *Server) DSN() string { return fmt.Sprintf(s.kind.url, s.addr) }

// Kill9 kills the server and its children with SIGKILL, as a crash would, and waits until they are
// gone. It does nothing when the server is down.
func (s *Server) Kill9() {
	if s.proc != nil {
		s.proc.Kill()
		s.proc = nil
	}
}

// Freeze stops the process of the server, as a paused virtual machine would. Linux only.
func (s *Server) Freeze() {
	s.t.Helper()
	testkit.Must(s.t, s.proc.Pause())
}

// Wake lets a frozen server go on.
func (s *Server) Wake() {
	s.t.Helper()
	testkit.Must(s.t, s.proc.Continue())
}

// Stop ends the server in order, without waiting for its clients.
func (s *Server) Stop() {
	s.t.Helper()
	if s.proc == nil {
		return
	}
	if err := s.proc.Cmd.Process.Signal(cmp.Or(s.kind.stop, syscall.SIGTERM)); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Fatalf("testserver: stop %s: %v", s.kind.name, err)
	}
	select {
	case <-s.proc.Ended():
		s.proc = nil
	case <-time.After(stopTimeout):
		s.Kill9()
		s.t.Fatalf("testserver: %s did not stop within %v\n%s", s.kind.name, stopTimeout, s.log())
	}
}

// Restart stops the server if it is up and starts it on the same data and address. Arguments, when
// there are any, replace the arguments of the last start.
func (s *Server) Restart(args ...string) {
	s.t.Helper()
	s.Stop()
	if len(args) > 0 {
		s.args = args
	}
	s.up()
}

// up starts the process and returns once it serves clients. A process that ends at once is started
// again: after a crash another process may hold the port or the old data for a moment.
func (s *Server) up() {
	s.t.Helper()
	testkit.Succeeds(s.t, "testserver: start "+s.kind.name, func() error { return s.logged(s.try()) })
}

// try starts the process unless it runs, and returns an error unless it serves clients.
func (s *Server) try() (err error) {
	if s.proc == nil {
		if s.proc, err = s.launch(append(s.kind.command(s), s.args...)...); err != nil {
			return err
		}
	}
	ready := s.kind.ready(s.addr)
	select {
	case <-s.proc.Ended(): // an answer came from another server then
		err := fmt.Errorf("it ended at once: %w", s.proc.Wait())
		s.proc = nil
		<-time.After(10 * pollInterval)
		return err
	case <-time.After(pollInterval):
		return ready
	}
}

// Await waits until servers of a cluster serve clients. After Restart a member may still lack a
// leader.
func Await(t testing.TB, servers ...*Server) {
	t.Helper()
	for _, s := range servers {
		if s.kind.serves != nil {
			s.await(t, s.kind.serves)
		}
	}
}

// await waits until a look at the server returns nil.
func (s *Server) await(t testing.TB, look func(addr string) error) {
	t.Helper()
	testkit.Succeeds(t, "testserver: "+s.kind.name+" serves clients", func() error { return s.logged(look(s.addr)) })
}

// logged adds the end of the server's log to an error.
func (s *Server) logged(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w\n%s", err, s.log())
}

// launch starts the server's program with its output in the log.
func (s *Server) launch(args ...string) (*process.Process, error) {
	log, err := os.OpenFile(s.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(s.program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	return s.startProcess(cmd)
}

// run runs another program of the server to its end.
func (s *Server) run(input []byte, program string, args ...string) {
	var out bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &out
	p, err := s.startProcess(cmd)
	testkit.Must(s.t, err)
	if err := p.Wait(); err != nil {
		s.t.Fatalf("testserver: prepare %s: %s: %v\n%s", s.kind.name, program, err, out.Bytes())
	}
}

// startProcess starts a command in the server's folder, as the server's user.
func (s *Server) startProcess(cmd *exec.Cmd) (*process.Process, error) {
	cmd.Dir = s.dir
	if s.kind.as != nil {
		process.RunAs(cmd, s.kind.as.uid, s.kind.as.gid)
	}
	return process.Start(cmd)
}

func (s *Server) path(name string) string { return filepath.Join(s.dir, name) }

func (s *Server) port() string {
	_, port, _ := net.SplitHostPort(s.addr)
	return port
}

// log returns the end of the server's log.
func (s *Server) log() []byte {
	text, err := os.ReadFile(s.path("log"))
	if err != nil {
		return []byte(err.Error())
	}
	return text[max(0, len(text)-4096):]
}

// guards has an open UDP socket for each address that FreeAddr has returned. It keeps other test
// processes from getting the address while its server is down, and this one from getting it again.
var guards sync.Map

// FreeAddr returns a loopback address for a server of the test's own, see [Server.Addr]. Its port
// is below the range of ports for outgoing connections: otherwise an outgoing connection could
// occupy it while the server is down.
func FreeAddr(t testing.TB) string {
	t.Helper()
	const lowest, count, tries = 15000, 15000, 100
	var err error
	for range tries {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(lowest+rand.IntN(count)))
		var guard net.PacketConn
		if guard, err = net.ListenPacket("udp", addr); err != nil {
			continue
		}
		var l net.Listener
		if l, err = net.Listen("tcp", addr); err == nil && l.Close() == nil {
			guards.Store(addr, guard)
			return addr
		}
		guard.Close()
	}
	t.Fatalf("testserver: no free port from %d to %d: %v", lowest, lowest+count-1, err)
	return ""
}

// patience bounds a look at a server that may not be ready.
const patience = time.Second

// answers returns a func that sends a message to a server, and returns an error unless the answer
// matches a pattern.
func answers(message, pattern string) func(addr string) error {
	want := regexp.MustCompile("(?s)" + pattern)
	return func(addr string) error {
		conn, err := net.DialTimeout("tcp", addr, patience)
		if err != nil {
			return err
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(patience))
		_, err = io.WriteString(conn, message)
		answer, buffer := "", make([]byte, 4096)
		for n := 0; err == nil && !want.MatchString(answer); answer += string(buffer[:n]) {
			n, err = conn.Read(buffer)
		}
		if !want.MatchString(answer) {
			return fmt.Errorf("answer %q to %q, want %s: %w", answer, message, pattern, err)
		}
		return nil
	}
}

// serves returns an error unless a URL has the status 200 and a body that contains want.
func serves(url, token, want string) error {
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	answer, body, err := httpcall.Send(context.Background(), client, http.MethodGet, url, token, nil, 1<<20)
	if err == nil && (answer.StatusCode != http.StatusOK || !strings.Contains(string(body), want)) {
		err = fmt.Errorf("GET %s: %s: %s", url, answer.Status, body)
	}
	return err
}
