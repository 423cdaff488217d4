// Package generator has the parts that all generators share: calls of the user's funcs, the end
// of a generator, the slow path of taking IDs, and a notifier for callers that wait.
package generator

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// Report calls a func of the user's Trace with a value, unless the func is nil. Callers must hold
// no lock.
func Report[T any](logger *slog.Logger, name string, f func(T), value T) {
	if f != nil {
		Call(logger, "Trace."+name, func() { f(value) })
	}
}

// Call runs a func of the user, and recovers and logs a panic: a mistake in reporting must not stop
// the generator.
func Call(logger *slog.Logger, name string, f func()) {
	defer func() {
		if p := recover(); p != nil {
			logger.Error("panic in "+name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	f()
}
