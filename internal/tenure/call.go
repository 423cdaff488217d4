package tenure

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"time"
)

// Call runs a func that the user has given for an event. A panic in it is logged and goes no further:
// a mistake in reporting must not stop the generator.
func Call(logger *slog.Logger, name string, f func()) {
	defer func() {
		if p := recover(); p != nil {
			logger.Error("panic in "+name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	f()
}

// guarded runs a method of the user's assigner or lease and turns a panic into an error.
func guarded(method string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("assigner: panic in %s: %v", method, p)
		}
	}()
	return f()
}

// shortestPause is the least time between two calls to the store that nobody asked for.
const shortestPause = 100 * time.Millisecond

// nextDelay doubles the delay between two tries, from about shortestPause to about 10 s, and spreads it, so
// that a fleet does not come back to its store all at once.
func nextDelay(last time.Duration) time.Duration {
	const most = 10 * time.Second
	next := min(max(2*last, shortestPause), most)
	return next/2 + rand.N(next/2)
}
