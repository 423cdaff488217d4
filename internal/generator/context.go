package generator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"
)

type startTimeout struct{} // the key of its error in a context

// StartContext returns the context of a start that StartTimeout bounds.
func StartContext(timeout time.Duration) (context.Context, context.CancelFunc) {
	late := fmt.Errorf("StartTimeout, %v, ends the start", timeout)
	return context.WithTimeout(context.WithValue(context.Background(), startTimeout{}, late), timeout)
}

// Late returns the error of a start whose context has ended, or ends too early.
func Late(ctx context.Context) error {
	timeout, _ := ctx.Value(startTimeout{}).(error)
	return cmp.Or(timeout, Ended(ctx), context.DeadlineExceeded)
}

// Ended returns the error of a context that has ended, with the cause if the context has one.
func Ended(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != ctx.Err() {
		return fmt.Errorf("%w (%w)", cause, ctx.Err())
	}
	return ctx.Err()
}

// Detach returns err, but not as the error of a context: a caller without a context, or with
// another one, must not take the timeout of a store call for its own.
func Detach(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return detached{err}
	}
	return err
}

type detached struct{ error }

func (d detached) Is(target error) bool {
	return target != context.DeadlineExceeded && target != context.Canceled && errors.Is(d.error, target)
}

// As hides DeadlineExceeded, which has the methods of a net.Error.
func (d detached) As(target any) bool {
	to := reflect.ValueOf(target).Elem()
	found := reflect.New(to.Type()) // so that target stays as it is
	if !errors.As(d.error, found.Interface()) || found.Elem().Interface() == context.DeadlineExceeded {
		return false
	}
	to.Set(found.Elem())
	return true
}
