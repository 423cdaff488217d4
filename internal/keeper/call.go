package keeper

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// Call runs the user's func for an event, and recovers and logs a panic: a mistake in reporting
// must not stop the generator.
func Call(logger *slog.Logger, name string, f func()) {
	defer func() {
		if p := recover(); p != nil {
			logger.Error("panic in "+name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	f()
}

// guarded runs a method of the user's assigner or lease, and returns a panic as an error.
func guarded(method string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("assigner: panic in %s: %v", method, p)
		}
	}()
	return f()
}
