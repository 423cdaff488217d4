package recipes

import (
	"context"
	"testing"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/defaultgen"
)

// newFunctionIDs runs once per process, before the first call. Leases come from any store, such as
// remoteassigner.LeaseStore or dynamoassigner.LeaseStore.
func newFunctionIDs(ctx context.Context, leases leasestore.Store, cfg assigner.LeaseConfig) (*defaultgen.Generator, error) {
	return defaultgen.NewContext(ctx, defaultgen.Config{
		Assigner:    assigner.Leased(leases, cfg),
		OnClockBack: defaultgen.GoOn, // a leased worker ID may start ahead of the clock
	})
}

func TestServerless(t *testing.T) {
	// Some hosts keep temporary files in memory.
	ids, err := newFunctionIDs(t.Context(), fileassigner.LeaseStore(t.TempDir()), assigner.LeaseConfig{AllowUndurable: true})
	if err != nil {
		t.Fatal(err)
	}
	defer ids.Close()
	var last uidring.ID
	for range 3 {
		id, err := ids.NextIDContext(t.Context())
		if err != nil || id <= last {
			t.Errorf("%d after %d, %v", id, last, err)
		}
		last = id
	}
}
