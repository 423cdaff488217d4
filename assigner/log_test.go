package assigner

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/testkit"
)

// TestLogRecords pins level, message and keys down: people search and alert for them.
func TestLogRecords(t *testing.T) {
	s := &namedStore{memStore: newMemStore()} // its other namespaces cannot be read
	s.status.Faults = []string{"sync_binlog is 0"}
	var log testkit.Recorder
	cfg := LeaseConfig{Window: shortWindow.Window, AllowUndurable: true, Logger: log.TextLogger()}
	take(t, clocked(Leased(s, cfg)))
	take(t, clocked(Leased(s, cfg))) // the namespace is not new any more
	s.status.Faults, s.others = nil, map[string]leasestore.Meta{"users": s.meta, "other": s.meta}
	other := s.meta
	other.DatacenterID++
	s.others["other"] = other
	for range 2 { // a new one each time, beside others
		s.meta = leasestore.Meta{}
		clear(s.rows)
		take(t, clocked(Leased(s, cfg)))
	}
	take(t, clocked(Leased(newMemStore(), cfg)))
	raced := newMemStore() // another process creates the namespace
	raced.onMeta = func(func() bool) (bool, error) {
		raced.onMeta = nil
		raced.pin(0)
		return false, nil
	}
	take(t, clocked(Leased(raced, cfg)))
	const ifNew = `first_worker=0 remedy="if the service is new, wait until the servers that may become primary have the namespace; otherwise stop it and find its former store"`
	faults := [2]string{"assigner: the store may forget acknowledged changes", `faults="[sync_binlog is 0]" remedy="correct these settings, and then remove AllowUndurable"`}
	isNew := [2]string{"assigner: the namespace is new in this store", `store=memory namespace=orders ` + ifNew}
	others := [2]string{"assigner: other namespaces give out the same worker IDs",
		`namespace=orders others=[users] remedy="if their IDs can meet in a table or a message, use one namespace, or give each a DatacenterID"`}
	records := [][2]string{
		isNew, {"assigner: the other namespaces of the store cannot be read", `namespace=orders error="connection reset"`}, faults,
		faults,
		isNew, others, isNew, others,
		{isNew[0], `store="" namespace="" ` + ifNew},
	}
	var want []string
	for _, r := range records {
		want = append(want, `level=WARN msg="`+r[0]+`" `+r[1])
	}
	if got := log.Read(); !slices.Equal(got, want) {
		t.Errorf("log:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A namedStore is the namespace orders, beside others.
type namedStore struct {
	*memStore
	others map[string]leasestore.Meta
}

func (s *namedStore) Status(ctx context.Context) (leasestore.Status, error) {
	status, err := s.memStore.Status(ctx)
	status.Store, status.Namespace = "memory", "orders"
	return status, err
}

func (s *namedStore) Namespaces(context.Context) (map[string]leasestore.Meta, error) {
	if s.others == nil {
		return nil, errLostAnswer
	}
	all := maps.Clone(s.others)
	if s.meta.Version != 0 {
		all["orders"] = s.meta
	}
	return all, nil
}
