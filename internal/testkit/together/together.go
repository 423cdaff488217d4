// Package together runs a function on many goroutines.
package together

import "sync"

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
