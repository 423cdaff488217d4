package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/cmd/uidring/internal/storeurl"
)

// storeFlags are the flags that name a store, and bound the time of calls to it.
type storeFlags struct {
	url, namespace string
	timeout        time.Duration
}

// addTo adds the flags to a command.
func (f *storeFlags) addTo(cmd *cobra.Command) {
	addStore(cmd, &f.url)
	cmd.Flags().StringVar(&f.namespace, "namespace", "default", "`name` of the namespace of worker IDs (UIDRING_NAMESPACE)")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 10*time.Second, "time limit for each step: to read the store, and to change it")
}

// addSQLTo adds the flags to a command for the tables of a database, which all namespaces share.
func (f *storeFlags) addSQLTo(cmd *cobra.Command) {
	f.addTo(cmd)
	cmd.Annotations["stores"] = strings.Join(storeurl.Forms(true), "\n  ")
	_ = cmd.Flags().MarkHidden("namespace")
}

// addStore adds the flag store to a command, and its URLs to the help.
func addStore(cmd *cobra.Command, url *string) {
	cmd.Flags().StringVar(url, "store", "", "`URL` of the store of worker IDs. Other users see command lines: put a URL with a password into UIDRING_STORE")
	cmd.Annotations = map[string]string{"stores": strings.Join(storeurl.Forms(false), "\n  ")}
}

// open opens the store. An invalid URL is a usage error; a server that does not answer is not.
func (f *storeFlags) open() (*storeurl.Store, error) {
	if f.timeout <= 0 {
		return nil, usagef("--timeout %v, allowed: above 0", f.timeout)
	}
	if f.url == "" {
		serves, _ := dataURL(dataFolder())
		return nil, usagef("--store is missing, allowed: the URL of a store, here or in UIDRING_STORE; uidring serve uses %q without one", serves)
	}
	st, err := storeurl.Open(f.url, f.namespace)
	if err != nil && !errors.Is(err, storeurl.ErrNoLogin) {
		err = usageError{err}
	}
	return st, err
}

// within calls do with a context that ends with the timeout or a signal.
func (f *storeFlags) within(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	ctx, stop := untilSignal(ctx)
	defer stop()
	err := do(ctx)
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, leasestore.ErrNotDurable) { // more time does not mend a standby
		err = fmt.Errorf("%w; --timeout allows %v", err, f.timeout)
	}
	return err
}

// with opens the store, and calls do with a context that ends with the timeout.
func (f *storeFlags) with(ctx context.Context, do func(context.Context, *storeurl.Store) error) error {
	st, err := f.open()
	if err != nil {
		return err
	}
	defer st.Close()
	return f.within(ctx, func(ctx context.Context) error { return do(ctx, st) })
}
