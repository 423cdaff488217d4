package keeper

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// Call runs a func that the user has given for an event. A panic in it is logged and goes no
// further: a mistake in reporting must not stop the generator.
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
