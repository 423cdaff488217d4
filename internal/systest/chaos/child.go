package chaos

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/uidring/uidring/internal/test/process"
)

// A child is a process with a generator. Any number of goroutines may use it.
type child struct {
	*process.Child
	profile profile
	killed  atomic.Bool   // by this run
	done    chan struct{} // closed when it has ended and all it wrote has been counted
}

// startChild starts this program again. The run receives the child's IDs and events as they
// arrive, and a failure if the child exits unexpectedly.
func startChild(r *chaosRun, p profile) (*child, error) {
	cmd, err := process.Again(profileEnv, p)
	if err != nil {
		return nil, err
	}
	ids, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.ExtraFiles = []*os.File{writer} // as idsFile
	started, err := process.StartChild(cmd)
	if err := errors.Join(err, writer.Close()); err != nil {
		return nil, errors.Join(err, ids.Close())
	}
	c := &child{Child: started, profile: p, done: make(chan struct{})}
	go c.follow(r, ids)
	return c, nil
}

// follow counts the IDs and events of the process until it has ended.
func (c *child) follow(r *chaosRun, ids *os.File) {
	defer close(c.done)
	var readers sync.WaitGroup
	readers.Go(func() { r.counter.follow(c.profile.Number, ids) })
	readers.Go(func() {
		decoder := json.NewDecoder(c.Stdout)
		for {
			var e event
			if decoder.Decode(&e) != nil {
				return // the end, or a piece of an event that a kill has left
			}
			r.event(c.profile.Number, e)
		}
	})
	readers.Wait()
	if err := errors.Join(c.Stdout.Close(), ids.Close()); err != nil {
		r.fail("pipes of process %d: %v", c.profile.Number, err)
	}
	if err := c.Wait(); err != nil && !c.killed.Load() {
		r.fail("process %d ended by itself: %v", c.profile.Number, err)
	}
}

// pause stops the process until resume. Both do nothing when the process has ended.
func (c *child) pause() { _ = c.Pause() }

func (c *child) resume() { _ = c.Continue() }

// kill kills the process and waits until its IDs are counted.
func (c *child) kill() {
	c.killed.Store(true)
	c.Kill()
	<-c.done
}

// command sends a line, which does not wait for the process: the pipe has room.
func (c *child) command(line string) {
	_, _ = fmt.Fprintln(c.Stdin, line) // an error says that it has ended
}

// finish has the process close its generator and end.
func (c *child) finish() { _ = c.Stdin.Close() }
