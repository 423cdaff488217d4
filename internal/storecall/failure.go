package storecall

import "context"

type key struct{}

// OnFailure returns a context for calls of a store. Stores report failures to failed, on any
// goroutine.
func OnFailure(ctx context.Context, failed func(error)) context.Context {
	return context.WithValue(ctx, key{}, failed)
}

// Failed reports the error of an attempt that the store will repeat.
func Failed(ctx context.Context, err error) {
	if failed, ok := ctx.Value(key{}).(func(error)); ok {
		failed(err)
	}
}
