package fileassigner_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/assigner/leasestore"
)

func TestFolderInMemoryIsAFault(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "filestore-")
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if faults := statusOf(t, dir).Faults; len(faults) != 1 || !strings.Contains(faults[0], "tmpfs") {
		t.Errorf("faults %q, want one that says tmpfs", faults)
	}
	for _, allow := range []bool{false, true} {
		a := assigner.Leased(fileassigner.LeaseStore(dir), assigner.LeaseConfig{AllowUndurable: allow})
		source := fileassigner.SegmentSource(dir, fileassigner.SegmentConfig{AllowUndurable: allow})
		_, errLease := a.Assign(t.Context(), assignertest.Domain())
		r, errSegment := source.Advance(t.Context(), "a", 1)
		for _, err := range []error{errLease, errSegment} {
			if errors.Is(err, leasestore.ErrNotDurable) == allow || (err == nil) != allow {
				t.Errorf("with AllowUndurable %v: %v, want ErrNotDurable otherwise", allow, err)
			}
		}
		if allow && r.First != 1 {
			t.Errorf("range %v, want 1: a call that was refused has moved the counter", r)
		}
	}
}
