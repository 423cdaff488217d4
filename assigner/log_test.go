package assigner

import (
	"slices"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/testkit"
)

// A stringer is a store with a name.
type stringer struct{ *memStore }

func (stringer) String() string { return "memory" }

// TestLogRecords pins level, message and keys down: people search and alert for them.
func TestLogRecords(t *testing.T) {
	s := &namedStore{memStore: newMemStore()}
	s.pin(0)
	s.status.Faults = []string{"sync_binlog is 0"}
	var log testkit.Recorder
	logger := log.TextLogger()
	take(t, clocked(Leased(s, LeaseConfig{Window: shortWindow.Window, AllowUndurable: true, Logger: logger})))
	s.others = make(map[string]leasestore.Meta) // no namespace to warn of
	take(t, clocked(Leased(s, LeaseConfig{Window: shortWindow.Window, AllowUndurable: true, Logger: logger})))
	other := s.meta
	other.DatacenterID++
	s.others = map[string]leasestore.Meta{"users": s.meta, "other": other}
	s.meta = leasestore.Meta{}
	take(t, clocked(Leased(s, LeaseConfig{Window: shortWindow.Window, AllowUndurable: true, Logger: logger})))
	s.status.Faults = nil
	take(t, clocked(Leased(s, LeaseConfig{Window: shortWindow.Window, Logger: logger}))) // warns of the namespace alone
	take(t, clocked(Leased(newMemStore(), LeaseConfig{Window: shortWindow.Window, Logger: logger})))
	take(t, clocked(Leased(stringer{newMemStore()}, LeaseConfig{Window: shortWindow.Window, Logger: logger})))
	raced := newMemStore() // another process creates the namespace
	raced.onMeta = func(func() bool) (bool, error) {
		raced.onMeta = nil
		raced.pin(0)
		return false, nil
	}
	take(t, clocked(Leased(raced, LeaseConfig{Window: shortWindow.Window, Logger: logger})))
	records := []struct{ message, values string }{
		{"assigner: the store may forget acknowledged changes", `faults="[sync_binlog is 0]"`},
		{"assigner: the other namespaces of the store cannot be read", `namespace=orders error="connection reset"`},
		{"assigner: the store may forget acknowledged changes", `faults="[sync_binlog is 0]"`},
		{"assigner: the namespace is new in this store", `store="*assigner.namedStore, namespace \"orders\"" first_worker=0 remedy="if the service is new, wait until the servers that may become primary have the namespace; otherwise stop it and find its former store"`},
		{"assigner: the store may forget acknowledged changes", `faults="[sync_binlog is 0]"`},
		{"assigner: other namespaces give out the same worker IDs", `namespace=orders others=[users]`},
		{"assigner: other namespaces give out the same worker IDs", `namespace=orders others=[users]`},
		{"assigner: the namespace is new in this store", `store="*assigner.memStore, namespace \"\"" first_worker=0 remedy="if the service is new, wait until the servers that may become primary have the namespace; otherwise stop it and find its former store"`},
		{"assigner: the namespace is new in this store", `store=memory first_worker=0 remedy="if the service is new, wait until the servers that may become primary have the namespace; otherwise stop it and find its former store"`},
	}
	var want []string
	for _, r := range records {
		want = append(want, `level=WARN msg="`+r.message+`" `+r.values)
	}
	if got := log.Read(); !slices.Equal(got, want) {
		t.Errorf("log:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
