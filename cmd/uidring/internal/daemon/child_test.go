package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// programEnv has the path of the program while tests run.
const programEnv = "TEST_UIDRING"

// TestMain builds the program once, as it is built for others: static.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "uidring-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	program := filepath.Join(dir, "uidring")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-buildvcs=false", "-o", program, "github.com/uidring/uidring/cmd/uidring")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	code := 1
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %v\n%s", build, err, out)
	} else if err := os.Setenv(programEnv, program); err == nil {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// A child is a process of the program. It belongs to the test, which kills it in the end.
type child struct {
	t       *testing.T
	cmd     *exec.Cmd
	log     *logbook
	ended   chan struct{}
	address string // once it listens
}

// serve starts uidring serve on a free port with more arguments, and returns once it has a worker
// ID.
func serve(t *testing.T, args ...string) *child {
	t.Helper()
	c := launch(t, exec.Command(os.Getenv(programEnv), append([]string{"serve", "--listen=127.0.0.1:0", "--log-format=json"}, args...)...))
	c.ready()
	return c
}

// launch starts a command in an environment without settings.
func launch(t *testing.T, cmd *exec.Cmd) *child {
	t.Helper()
	if cmd.Env == nil {
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "STATE_DIRECTORY=") }),
			"XDG_STATE_HOME="+t.TempDir()) // no store is known
	}
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "UIDRING_") })
	c := &child{t: t, cmd: cmd, log: new(logbook), ended: make(chan struct{})}
	cmd.Stderr = c.log
	if cmd.SysProcAttr == nil {
		setAttributes(cmd)
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the child would end with the thread
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // ProcessState tells
			close(c.ended)
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	return c
}

func (c *child) ready() {
	c.t.Helper()
	until(c.t, "a worker ID", func() bool {
		if c.hasEnded() {
			c.t.Fatalf("%v: %v\n%s", c.cmd, c.cmd.ProcessState, c.log)
		}
		return c.log.find("ready") != nil
	})
	c.address = c.log.find("listening")["address"].(string)
}

func (c *child) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// worker is the worker ID that it has begun with.
func (c *child) worker() int { return int(c.log.find("ready")["worker"].(float64)) }

func (c *child) url() string { return "http://" + c.address }

// kill ends it as a crash would. It does nothing when it has ended.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // an error says that it has ended
	<-c.ended
}

func (c *child) signal(s os.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// terminate asks it to end, and wants it to do so in order.
func (c *child) terminate() {
	c.t.Helper()
	c.signal(syscall.SIGTERM)
	c.wait()
	if code := c.cmd.ProcessState.ExitCode(); code != 0 || c.log.find("stopped") == nil {
		c.t.Errorf("after SIGTERM: %v, want exit status 0\n%s", c.cmd.ProcessState, c.log)
	}
}

func (c *child) wait() {
	c.t.Helper()
	select {
	case <-c.ended:
	case <-time.After(patience):
		c.t.Fatalf("%v has not ended within %v\n%s", c.cmd, patience, c.log)
	}
}
