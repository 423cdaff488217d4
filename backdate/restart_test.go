package backdate_test

import (
	"context"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/backdate"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/gentest"
	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// A process of the test issues IDs from leases in a folder, of the same instants as each other one.
func TestMain(m *testing.M) {
	gentest.Main(m, func(folder string) (func() (int64, error), error) {
		g, err := backdate.New(context.Background(), backdate.Config{Assigner: numbers(folder)})
		i := 0
		return func() (int64, error) {
			i++
			return g.At(past.Add(time.Duration(i%100) * time.Second))
		}, err
	})
}

func numbers(folder string) assigner.Assigner {
	return assigner.Auto(fileassigner.LeaseStore(folder, fileassigner.Config{}), assigner.LeaseConfig{})
}

// Processes with one namespace issue IDs of the same instants and are killed, while a generator of
// package cached issues IDs of now in the same namespace.
func TestKilledProcessesRepeatNoID(t *testing.T) {
	folder := testserver.DiskFolder(t)
	now, err := cached.New(cached.Config{Assigner: numbers(folder)})
	testkit.Must(t, err)
	defer now.Close()
	var ids idset.Set
	gentest.Restarts(t, folder, 4, 1000, func(id int64) {
		present, err := now.Next()
		testkit.Must(t, err)
		ids.Once(t, id, present)
	})
}
