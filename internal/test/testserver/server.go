package testserver

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/poll"
	"github.com/uidring/uidring/internal/test/process"
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
	t      testing.TB
	recipe recipe
	dir    string // holds data, log and sockets; owned by the user that the server runs as
	addr   string
	args   []string         // arguments of the test, after the recipe's
	proc   *process.Process // nil while the server is down
}

// A recipe describes how to run a kind of server.
type recipe struct {
	name    string
	program string                   // absolute path
	as      *account                 // nil: run as the user of the test
	prepare func(s *Server) error    // fills the data folder, once; may be nil
	command func(s *Server) []string // arguments of the program
	ready   func(addr string) error  // nil when the server at addr serves clients
	dsn     func(addr string) string // DSN or URL for clients
	stop    syscall.Signal           // asks for an orderly end without waiting for clients
}

// start prepares and starts a server on a free port, and has the test stop it in the end.
func start(t testing.TB, r recipe, args []string) *Server {
	t.Helper()
	return startAt(t, FreeAddr(t), r, args)
}

func startAt(t testing.TB, addr string, r recipe, args []string) *Server {
	t.Helper()
	s := prepared(t, addr, r, args)
	s.up()
	return s
}

// prepared is startAt without starting the server.
func prepared(t testing.TB, addr string, r recipe, args []string) *Server {
	t.Helper()
	s := &Server{t: t, recipe: r, addr: addr, args: args}
	if err := s.makeDir(); err != nil {
		t.Fatalf("testserver: %s: %v", r.name, err)
	}
	t.Cleanup(func() {
		s.Kill9()
		if err := os.RemoveAll(s.dir); err != nil {
			t.Errorf("testserver: %s: %v", r.name, err)
		}
	})
	if r.prepare != nil {
		if err := r.prepare(s); err != nil {
			t.Fatalf("testserver: prepare %s: %v", r.name, err)
		}
	}
	return s
}

// makeDir makes the server's folder. Its parents have to be passable for the user that the server
// runs as, which a TMPDIR below a home folder is not; hence /tmp for another user.
func (s *Server) makeDir() error {
	parent := os.TempDir()
	if s.recipe.as != nil {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, "uidring-")
	if err != nil {
		return err
	}
	s.dir = dir
	if s.recipe.as == nil {
		return nil
	}
	return errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, s.recipe.as.uid, s.recipe.as.gid))
}

// Addr returns host and port, "127.0.0.1:40123". They stay the same over restarts.
func (s *Server) Addr() string { return s.addr }

// Dir returns the folder that holds the server's data.
func (s *Server) Dir() string { return s.dir }

// DSN returns the address for clients: for MariaDB a DSN of go-sql-driver/mysql (user root, no
// password, database uidring), for the others a URL.
func (s *Server) DSN() string { return s.recipe.dsn(s.addr) }

// Kill9 kills the server and its children with SIGKILL, as a crash would, and waits until they are
// gone. It does nothing when the server is down.
func (s *Server) Kill9() {
	if s.proc != nil {
		s.proc.Kill()
		s.proc = nil
	}
}

// Stop ends the server in order, without waiting for its clients.
func (s *Server) Stop() {
	s.t.Helper()
	if s.proc == nil {
		return
	}
	if err := s.proc.Cmd.Process.Signal(s.recipe.stop); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Fatalf("testserver: stop %s: %v", s.recipe.name, err)
	}
	select {
	case <-s.proc.Ended():
		s.proc = nil
	case <-time.After(stopTimeout):
		s.Kill9()
		s.t.Fatalf("testserver: %s did not stop within %v\n%s", s.recipe.name, stopTimeout, s.log())
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
	poll.Succeeds(s.t, "testserver: start "+s.recipe.name, func() error { return s.logged(s.try()) })
}

// try starts the process unless it runs, and returns an error unless it serves clients.
func (s *Server) try() (err error) {
	if s.proc == nil {
		if s.proc, err = s.launch(append(s.recipe.command(s), s.args...)...); err != nil {
			return err
		}
	}
	ready := s.recipe.ready(s.addr)
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

// await waits for an event in a server's life.
func (s *Server) await(event string, happened func() error) {
	s.t.Helper()
	poll.Succeeds(s.t, "testserver: "+s.recipe.name+": "+event, func() error { return s.logged(happened()) })
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
	cmd := exec.Command(s.recipe.program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	return s.startProcess(cmd)
}

// run runs another program of the server to its end.
func (s *Server) run(input []byte, program string, args ...string) error {
	var out bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &out
	p, err := s.startProcess(cmd)
	if err != nil {
		return err
	}
	select {
	case <-p.Ended():
	case <-time.After(poll.Patience):
		p.Kill()
		return fmt.Errorf("%s did not end within %v", program, poll.Patience)
	}
	if err := p.Wait(); err != nil {
		return fmt.Errorf("%s: %w\n%s", program, err, out.Bytes())
	}
	return nil
}

// startProcess starts a command in the server's folder, as the server's user.
func (s *Server) startProcess(cmd *exec.Cmd) (*process.Process, error) {
	cmd.Dir = s.dir
	if s.recipe.as != nil {
		runAs(cmd, s.recipe.as)
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

// FreeAddr returns a loopback address for a server of the test's own, see [Server.Addr], apart from
// some addresses. Its port was free a moment ago, and is below the range of ports for outgoing
// connections: otherwise an outgoing connection could occupy it while the server is down.
func FreeAddr(t testing.TB, taken ...string) string {
	t.Helper()
	const lowest, count, tries = 15000, 15000, 100
	var err error
	for range tries {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(lowest+rand.IntN(count)))
		if slices.Contains(taken, addr) {
			continue
		}
		var l net.Listener
		if l, err = net.Listen("tcp", addr); err == nil {
			if err = l.Close(); err == nil {
				return addr
			}
		}
	}
	t.Fatalf("testserver: no free port from %d to %d: %v", lowest, lowest+count-1, err)
	return ""
}
