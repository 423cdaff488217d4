package storecall

import (
	"context"
	"io"
	"sync"
)

// An operation is a few store calls that belong together, such as the calls of a renewal. A store
// may keep a connection from one call to the next, and so prove its state once.
type operation struct {
	mu    sync.Mutex
	ended bool
	kept  map[any]io.Closer // by store
	facts map[any]string    // by store
}

type operationKey struct{}

// Operation returns a context for the store calls of one operation, and a func that ends the
// operation. An operation within another one is a part of it.
func Operation(ctx context.Context) (context.Context, func()) {
	if _, within := ctx.Value(operationKey{}).(*operation); within {
		return ctx, func() {}
	}
	o := &operation{kept: make(map[any]io.Closer), facts: make(map[any]string)}
	return context.WithValue(ctx, operationKey{}, o), o.end
}

// Pause closes the connections that stores keep, before an operation waits.
func Pause(ctx context.Context) {
	if o, ok := ctx.Value(operationKey{}).(*operation); ok {
		o.close()
	}
}

func (o *operation) end() {
	o.mu.Lock()
	o.ended = true
	o.mu.Unlock()
	o.close()
}

func (o *operation) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for store, kept := range o.kept {
		_ = kept.Close()
		delete(o.kept, store)
	}
}

// Take returns the connection that a store has kept in the operation of ctx, or nil. The caller
// owns it.
func Take(ctx context.Context, store any) io.Closer {
	o, ok := ctx.Value(operationKey{}).(*operation)
	if !ok {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	kept := o.kept[store]
	delete(o.kept, store)
	return kept
}

// Keep leaves a connection for the next call of the store in the operation of ctx. Without an
// operation it closes the connection.
func Keep(ctx context.Context, store any, connection io.Closer) {
	o, ok := ctx.Value(operationKey{}).(*operation)
	if !ok {
		_ = connection.Close()
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, another := o.kept[store]; another || o.ended { // two calls at once, or a late one
		_ = connection.Close()
		return
	}
	o.kept[store] = connection
}

// Note records a fact about a store for the rest of the operation of ctx, also after a Pause.
func Note(ctx context.Context, store any, fact string) {
	if o, ok := ctx.Value(operationKey{}).(*operation); ok {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.facts[store] = fact
	}
}

// Noted returns the fact that a store has noted last in the operation of ctx, or "".
func Noted(ctx context.Context, store any) string {
	o, ok := ctx.Value(operationKey{}).(*operation)
	if !ok {
		return ""
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.facts[store]
}
