package fileassigner_test

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
)

// TestMain lets the test binary be one of the processes that share a folder.
func TestMain(m *testing.M) {
	segmenttest.Child(func(dir string) (segment.Source, error) {
		return fileassigner.SegmentSource(dir, fileassigner.SegmentConfig{}), nil
	})
	os.Exit(m.Run())
}

// diskFolder returns an empty folder on a local disk, on a system that locks files.
func diskFolder(t *testing.T) string {
	t.Helper()
	_, err := fileassigner.LeaseStore(t.TempDir(), fileassigner.Config{}).Status(t.Context())
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	return testserver.DiskFolder(t)
}

func TestStoreConforms(t *testing.T) {
	assignertest.RunStore(t, func(t *testing.T) assignertest.StoreFixture {
		dir := diskFolder(t)
		return assignertest.StoreFixture{
			Handle: func() leasestore.Store { return fileassigner.LeaseStore(dir, fileassigner.Config{}) },
			Other:  func(string) leasestore.Store { return fileassigner.LeaseStore(diskFolder(t), fileassigner.Config{}) },
			Down:   func(t *testing.T) (up func()) { return unmount(t, dir) },
		}
	})
}

// unmount takes a folder away, as the end of the mount that it is on does.
func unmount(t *testing.T, dir string) (mount func()) {
	t.Helper()
	rename := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Error(err)
		}
	}
	away := dir + "-away"
	rename(dir, away)
	return func() { rename(away, dir) }
}

// heldFolder returns the folder of a store with some rows, and one of them.
func heldFolder(t *testing.T) (dir string, row leasestore.Row) {
	t.Helper()
	dir = diskFolder(t)
	s := fileassigner.LeaseStore(dir, fileassigner.Config{})
	for range 3 {
		row = stores.Load(t, s, stores.Assign(t, s).Grant().WorkerID)
	}
	return dir, row
}

// A running process must not go on with another folder at the same path: it would take numbers that
// are in use.
func TestFolderThatIsReplacedWhileInUseIsRefused(t *testing.T) {
	for name, replace := range map[string]func(t *testing.T, dir, away string){
		"moved":    func(*testing.T, string, string) {},
		"emptied":  func(t *testing.T, dir, _ string) { copyFolder(t, dir, t.TempDir()) },
		"another":  func(t *testing.T, dir, _ string) { copyFolder(t, dir, t.TempDir()); statusOf(t, dir) },
		"its copy": func(t *testing.T, dir, away string) { copyFolder(t, dir, away) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, row := heldFolder(t)
			s := fileassigner.LeaseStore(dir, fileassigner.Config{})
			a := assigner.Leased(s, assigner.LeaseConfig{})
			_, err := a.Assign(t.Context(), assignertest.Domain())
			testkit.Must(t, err)
			back := unmount(t, dir)
			replace(t, dir, dir+"-away")
			_, errStatus := s.Status(t.Context())
			_, errLoad := s.Load(t.Context(), row.WorkerID)
			_, errAssign := a.Assign(t.Context(), assignertest.Domain())
			for _, err := range []error{errStatus, errLoad, errAssign} {
				if !errors.Is(err, leasestore.ErrDamaged) || !strings.Contains(err.Error(), dir) ||
					!strings.Contains(err.Error(), "moved, replaced or deleted while it was in use") || strings.Contains(err.Error(), "create the folder") {
					t.Errorf("%v, want ErrDamaged with the folder, what happened to it and one remedy", err)
				}
			}
			testkit.Must(t, os.RemoveAll(dir))
			back()
			if got, err := s.Load(t.Context(), row.WorkerID); got != row || err != nil {
				t.Errorf("put back: %+v, %v, want %+v", got, err, row)
			}
		})
	}
}

func copyFolder(t *testing.T, to, from string) {
	t.Helper()
	testkit.Must(t, os.CopyFS(to, os.DirFS(from)))
}

func statusOf(t *testing.T, dir string) leasestore.Status {
	t.Helper()
	return stores.Status(t, fileassigner.LeaseStore(dir, fileassigner.Config{}))
}

func TestRelativeFolderStaysAfterChdir(t *testing.T) {
	t.Chdir(diskFolder(t))
	s, source := fileassigner.LeaseStore(".", fileassigner.Config{}), fileassigner.SegmentSource(".", fileassigner.SegmentConfig{})
	for range 2 {
		_, err := source.Advance(t.Context(), "orders", 1)
		testkit.Must(t, err)
		stores.Status(t, s)
		t.Chdir(t.TempDir())
	}
}

func TestFolderMustExist(t *testing.T) {
	missing := filepath.Join(diskFolder(t), "missing")
	stores.Fail(t, fileassigner.LeaseStore(missing, fileassigner.Config{}), "not mounted", missing)
	if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Stat: %v; the folder was made, which hides that a disk is not mounted", err)
	}
	stores.Fail(t, fileassigner.LeaseStore("", fileassigner.Config{}), `folder "": allowed: the path of a folder`)
}

// Two folders with one lock file have one identity and two states, and a reboot empties a folder in
// memory.
func TestFolderWithAFaultIsRefusedUnlessAllowed(t *testing.T) {
	linked, memory := diskFolder(t), "/dev/shm/"+rand.Text()
	statusOf(t, linked) // makes the lock file
	testkit.Must(t, os.Link(filepath.Join(linked, "lock"), filepath.Join(diskFolder(t), "lock")))
	faults := map[string]string{linked: "the file lock has 2 hard links"}
	if os.Mkdir(memory, 0o700) == nil {
		defer func() { _ = os.RemoveAll(memory) }()
		faults[memory] = "tmpfs"
	}
	for dir, fault := range faults {
		for _, allow := range []bool{false, true} {
			_, errLease := assigner.Leased(fileassigner.LeaseStore(dir, fileassigner.Config{}), assigner.LeaseConfig{AllowUndurable: allow}).Assign(t.Context(), assignertest.Domain())
			r, errSegment := fileassigner.SegmentSource(dir, fileassigner.SegmentConfig{AllowUndurable: allow}).Advance(t.Context(), "a", 1)
			for _, err := range []error{errLease, errSegment} {
				if refused := errors.Is(err, leasestore.ErrNotDurable) && strings.Contains(err.Error(), fault); refused == allow || (err == nil) != allow {
					t.Errorf("with AllowUndurable %v: %v, want ErrNotDurable with %q otherwise", allow, err, fault)
				}
			}
			if allow && r.First != 1 {
				t.Errorf("range %v, want 1: a call that was refused has moved the counter", r)
			}
		}
	}
}

func TestSegments(t *testing.T) {
	dir := diskFolder(t)
	f := segmenttest.Fixture{Open: func(*testing.T) segment.Source { return fileassigner.SegmentSource(dir, fileassigner.SegmentConfig{}) }}
	t.Run("Suite", func(t *testing.T) { segmenttest.Run(t, f) })
	t.Run("Kills", func(t *testing.T) { segmenttest.Kills(t, f, dir, nil, nil) })
}
