package storecall

import "context"

type failedKey struct{}
type impatientKey struct{}

// OnFailure returns a context for calls of a store. Stores report failures to failed, on any
// goroutine.
func OnFailure(ctx context.Context, failed func(error)) context.Context {
	return context.WithValue(ctx, failedKey{}, failed)
}

// Failed reports the error of an attempt that the store will repeat.
func Failed(ctx context.Context, err error) {
	if failed, ok := ctx.Value(failedKey{}).(func(error)); ok {
		failed(err)
	}
}

// Impatient returns a context for a swap whose caller has other rows to try. A store then returns
// false for a row that another session has locked, and does not wait.
func Impatient(ctx context.Context) context.Context {
	return context.WithValue(ctx, impatientKey{}, true)
}

// IsImpatient reports whether ctx is from [Impatient].
func IsImpatient(ctx context.Context) bool {
	is, _ := ctx.Value(impatientKey{}).(bool)
	return is
}
