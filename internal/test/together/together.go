// Package together runs functions side by side.
package together

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Run calls f(0) to f(n-1), each on a goroutine of its own, and waits for them. All calls start at
// the same moment.
func Run(n int, f func(i int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}

// Yield gives the other goroutines the time to go on until they wait, in real time. In a bubble,
// synctest.Wait does that.
func Yield() {
	for range 10_000 {
		runtime.Gosched()
	}
}

// Waits runs f on a goroutine, and reports whether f has not returned after Yield. The func that it
// returns waits for f.
func Waits(f func()) (waits bool, wait func()) {
	var wg sync.WaitGroup
	var returned atomic.Bool
	wg.Go(func() {
		f()
		returned.Store(true)
	})
	Yield()
	return !returned.Load(), wg.Wait
}
