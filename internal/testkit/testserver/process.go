package testserver

import (
	"os/exec"
	"runtime"
)

// A process is a child that has been started and is being waited for.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	err  error         // how it ended; to be read after done
}

// startProcess starts a child, as another user when as is not nil. On Linux the kernel kills the
// child when the thread that started it ends; that thread is therefore held until the child has
// ended, and goes only if the whole test process goes.
func startProcess(cmd *exec.Cmd, as *account) (*process, error) {
	setAttributes(cmd, as)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}
