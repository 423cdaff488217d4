package daemon

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/poll"
	"github.com/uidring/uidring/internal/test/process"
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

// must ends the test if there is an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A child is a process of the program. It belongs to the test, which kills it in the end.
type child struct {
	*process.Process
	t   *testing.T
	log *logbook
	addresses
}

// serve starts uidring serve on a free port with more arguments, and returns once it has a worker
// ID.
func serve(t *testing.T, args ...string) *child {
	t.Helper()
	c := launch(t, program(args...))
	c.ready()
	return c
}

// program is uidring serve on free ports with more arguments.
func program(args ...string) *exec.Cmd {
	return exec.Command(os.Getenv(programEnv), append([]string{"serve", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--log-format=json"}, args...)...)
}

// launch starts a command in an environment without settings.
func launch(t *testing.T, cmd *exec.Cmd) *child {
	t.Helper()
	if cmd.Env == nil {
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "STATE_DIRECTORY=") }),
			"XDG_STATE_HOME="+t.TempDir()) // no store is known
	}
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "UIDRING_") })
	c := &child{t: t, log: new(logbook)}
	cmd.Stderr = c.log
	var err error
	if c.Process, err = process.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	return c
}

func (c *child) ready() {
	c.t.Helper()
	poll.Until(c.t, "a worker ID", func() bool {
		if c.hasEnded() {
			c.t.Fatalf("%v: %v\n%s", c.Cmd, c.Cmd.ProcessState, c.log)
		}
		return c.log.find("ready") != nil
	})
	c.addresses = addressesOf(c.log)
}

func (c *child) hasEnded() bool {
	select {
	case <-c.Ended():
		return true
	default:
		return false
	}
}

// worker is the worker ID that it has begun with.
func (c *child) worker() int { return int(c.log.find("ready")["worker"].(float64)) }

// metric returns a metric without labels.
func (c *child) metric(name string) float64 {
	c.t.Helper()
	_, body, err := get(http.DefaultClient, c.adminURL()+"/metrics")
	_, rest, _ := strings.Cut(body, "\n"+name+" ")
	text, _, _ := strings.Cut(rest, "\n")
	number, errNumber := strconv.ParseFloat(text, 64)
	if err := errors.Join(err, errNumber); err != nil {
		c.t.Fatalf("metric %s: %v", name, err)
	}
	return number
}

func (c *child) signal(s os.Signal) {
	c.t.Helper()
	must(c.t, c.Cmd.Process.Signal(s))
}

// terminate asks it to end, and wants it to do so in order.
func (c *child) terminate() {
	c.t.Helper()
	c.signal(syscall.SIGTERM)
	c.wait()
	if code := c.Cmd.ProcessState.ExitCode(); code != 0 || c.log.find("stopped") == nil {
		c.t.Errorf("after SIGTERM: %v, want exit status 0\n%s", c.Cmd.ProcessState, c.log)
	}
}

func (c *child) wait() {
	c.t.Helper()
	select {
	case <-c.Ended():
	case <-time.After(patience):
		c.t.Fatalf("%v has not ended within %v\n%s", c.Cmd, patience, c.log)
	}
}
