package sql_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/storetest"
	"github.com/uidring/uidring/internal/test/testserver"
)

// A standby answers reads, so it is not unreachable.
func TestPostgreSQLStandbyIsReadOnly(t *testing.T) {
	s := testserver.PostgreSQL(t)
	db, dsn := postgres(s).Applied(t)
	store := storetest.LeaseStore(db)
	lease := storetest.Assign(t, assigner.Leased(store, assigner.LeaseConfig{FirstWorkerID: 1000}))
	var folder string
	if err := db.Get(&folder, "SELECT current_setting('data_directory')"); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	if err := os.WriteFile(folder+"/standby.signal", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s.Restart()
	for name, call := range map[string]func(t *testing.T) error{
		"Leased": func(t *testing.T) error {
			_, err := storetest.TryAssign(t, assigner.Leased(storetest.LeaseStore(open(t, dsn)), assigner.LeaseConfig{FirstWorkerID: 1000}), time.Second)
			return err
		},
		"Disposable": func(t *testing.T) error {
			_, err := storetest.TryAssign(t, sqlassigner.Disposable(open(t, dsn), sqlassigner.Config{}), time.Second)
			return err
		},
		"Sticky": func(t *testing.T) error {
			_, err := storetest.TryAssign(t, sqlassigner.Sticky(open(t, dsn), "key", sqlassigner.Config{}), time.Second)
			return err
		},
		"Renew of a lease": func(t *testing.T) error { return lease.Renew(within(t), 1, lease.Grant().Limit+1) },
		"Release":          func(t *testing.T) error { return lease.Release(within(t), 1) },
		"read-write sessions": func(t *testing.T) error {
			_, err := storetest.LeaseStore(open(t, dsn+"&target_session_attrs=read-write")).Status(within(t))
			return err
		},
		"sessions with the primary": func(t *testing.T) error {
			_, err := storetest.LeaseStore(open(t, dsn+"&target_session_attrs=primary")).Status(within(t))
			return err
		},
		"Apply of another table": func(t *testing.T) error {
			other := func(name string) string { return "other_" + name }
			return sqlassigner.Apply(within(t), db, sqlassigner.Config{TableName: other})
		},
		"Recover": func(t *testing.T) error { return leasestore.Recover(within(t), store, time.Hour) },
		"Swap": func(t *testing.T) error {
			_, err := store.Swap(within(t), leasestore.Row{}, leasestore.Row{WorkerID: 7, Version: 1}, time.Hour)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := call(t)
			if !errors.Is(err, assigner.ErrStoreNotDurable) || errors.Is(err, sqlassigner.ErrUnreachable) || !strings.Contains(err.Error(), "use the address of the primary") {
				t.Errorf("%v; want ErrStoreNotDurable with the advice to use the primary", err)
			}
		})
	}
}

// within bounds a call, which is tried again for as long as the server takes no writes.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	t.Cleanup(cancel)
	return ctx
}
