package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/uidring/uidring/cmd/uidring/internal/store"
)

// storeFlags say which store a command works on.
type storeFlags struct {
	dsn, namespace string
	timeout        time.Duration
}

// addTo makes the flags of a command.
func (f *storeFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dsn, "dsn", "", "URL of the store: mysql://, postgres://, redis://, rediss://, etcd://, sqlite:, file://;\n"+
		"with a password, better in UIDRING_DSN than here, where others see it")
	cmd.Flags().StringVar(&f.namespace, "namespace", "default", "of the worker IDs (UIDRING_NAMESPACE)")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 10*time.Second, "how long the store may take, to look and to act each")
	orEnvironment(cmd, "dsn")
	orEnvironment(cmd, "namespace")
}

// open opens the store. What is wrong with the URL is a mistake in what was typed, a server that
// does not answer is none.
func (f *storeFlags) open() (*store.Store, error) {
	if f.timeout <= 0 {
		return nil, usagef("--timeout %v, allowed: above 0", f.timeout)
	}
	if f.dsn == "" {
		return nil, usagef("--dsn is missing, allowed: the URL of a store, here or in UIDRING_DSN, such as mysql://user:password@host:3306/database")
	}
	st, err := store.Open(f.dsn, f.namespace)
	switch {
	case errors.Is(err, store.ErrNoLogin):
		return nil, err
	case err != nil:
		return nil, usageError{err}
	}
	return st, nil
}

// within runs something until the timeout or a signal.
func (f *storeFlags) within(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	ctx, stop := untilSignal(ctx)
	defer stop()
	err := do(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w; --timeout allows %v", err, f.timeout)
	}
	return err
}
