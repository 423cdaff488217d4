package vmclock

import (
	"context"
	"time"
)

// A Watcher notices resumptions since [Open], which makes it.
type Watcher struct {
	generation func() uint64 // reads the counter
	last       uint64
}

// Watch calls invalidate soon after each resumption of this virtual machine from a snapshot since
// Open, until ctx ends. It blocks: call it in a goroutine of its own, and one time for all
// generators.
func (w *Watcher) Watch(ctx context.Context, invalidate func()) {
	for ; ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		if now := w.generation(); now != w.last {
			w.last = now
			invalidate()
		}
	}
}
