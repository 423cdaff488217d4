package storecall

import "context"

type impatientKey struct{}

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
