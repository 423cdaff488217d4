package chaos

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
)

// A process is a child with a generator. Any number of goroutines may use it.
type process struct {
	profile profile
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	killed  atomic.Bool   // by this run
	done    chan struct{} // closed when it has ended and all it wrote has been counted
}

// startProcess starts this program again as a child. The run receives the child's IDs and events as
// they arrive, and a failure if the child exits unexpectedly.
func startProcess(r *chaosRun, p profile) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), profileEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	setAttributes(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// Not cmd.StdoutPipe: Wait would close it before all output of a killed process is read.
	events, eventsWriter, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ids, idsWriter, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, events.Close(), eventsWriter.Close())
	}
	cmd.Stdout, cmd.ExtraFiles = eventsWriter, []*os.File{idsWriter} // as idsFile
	c := &process{profile: p, cmd: cmd, stdin: stdin, done: make(chan struct{})}
	wait, err := launch(cmd)
	if err := errors.Join(err, eventsWriter.Close(), idsWriter.Close()); err != nil {
		return nil, errors.Join(err, events.Close(), ids.Close())
	}
	go c.follow(r, events, ids, wait)
	return c, nil
}

// launch starts a command. The thread that started it is held until it has ended: on Linux the
// child is killed when that thread ends, which it then does with the whole program only.
func launch(cmd *exec.Cmd) (wait <-chan error, err error) {
	started, ended := make(chan error), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
		}
	}()
	return ended, <-started
}

// follow counts the IDs and events of the process until it has ended.
func (c *process) follow(r *chaosRun, events, ids *os.File, wait <-chan error) {
	defer close(c.done)
	var readers sync.WaitGroup
	readers.Go(func() { r.counter.follow(c.profile.Number, ids) })
	readers.Go(func() {
		decoder := json.NewDecoder(events)
		for {
			var e event
			if decoder.Decode(&e) != nil {
				return // the end, or a piece of an event that a kill has left
			}
			r.event(c.profile.Number, e)
		}
	})
	readers.Wait()
	if err := errors.Join(events.Close(), ids.Close()); err != nil {
		r.fail("pipes of process %d: %v", c.profile.Number, err)
	}
	if err := <-wait; err != nil && !c.killed.Load() {
		r.fail("process %d ended by itself: %v", c.profile.Number, err)
	}
}

// signal does nothing when the process has ended.
func (c *process) signal(s syscall.Signal) { _ = c.cmd.Process.Signal(s) }

// kill kills the process and waits until its IDs are counted.
func (c *process) kill() {
	c.killed.Store(true)
	c.signal(syscall.SIGKILL)
	<-c.done
}

// command sends a line, which does not wait for the process: the pipe has room.
func (c *process) command(line string) {
	_, _ = fmt.Fprintln(c.stdin, line) // an error says that it has ended
}

// finish has the process close its generator and end.
func (c *process) finish() { _ = c.stdin.Close() }
