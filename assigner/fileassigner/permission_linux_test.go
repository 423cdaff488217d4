package fileassigner_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/assigner/leasestore"
)

func TestFolderWithoutPermissionIsAnError(t *testing.T) {
	dir, row := heldFolder(t)
	state := readFile(t, dir, "state.json")
	files := []string{filepath.Join(dir, "lock"), filepath.Join(dir, "state.json")}
	chmod := func(folder, file os.FileMode) {
		t.Helper()
		for _, name := range files {
			if err := os.Chmod(name, file); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(dir, folder); err != nil {
			t.Fatal(err)
		}
	}
	next := row
	next.Fence++
	for _, mode := range []struct{ folder, file os.FileMode }{{0o555, 0o666}, {0o777, 0o444}, {0o000, 0o666}} {
		chmod(mode.folder, mode.file)
		asNobody(t, filepath.Dir(dir), func() {
			ok, err := fileassigner.LeaseStore(dir).Swap(t.Context(), row, next, 0)
			if ok || !errors.Is(err, os.ErrPermission) {
				t.Errorf("Swap with mode %v of the folder, %v of its files: %v, %v; want ErrPermission", mode.folder, mode.file, ok, err)
			}
		})
		chmod(0o700, 0o600)
		if after := readFile(t, dir, "state.json"); !bytes.Equal(after, state) {
			t.Errorf("the state has changed to %s, was %s", after, state)
		}
	}
	empty := diskFolder(t)
	if err := os.Chmod(empty, 0o555); err != nil {
		t.Fatal(err)
	}
	asNobody(t, filepath.Dir(empty), func() {
		wantError(t, fileassigner.LeaseStore(empty), leasestore.Row{}, os.ErrPermission)
	})
}

// asNobody runs f without the rights of root, which no mode keeps out, and with those to go through
// a folder.
func asNobody(t *testing.T, through string, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	for dir := through; dir != "." && dir != os.TempDir() && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never let go: the thread ends with the goroutine
		const nobody = 65534
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETFSUID, nobody, 0, 0); errno != 0 {
			t.Error(errno)
			return
		}
		f()
	}()
	<-done
}

func TestFolderInMemoryIsAFault(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "filestore-")
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if faults := statusOf(t, dir).Faults; len(faults) != 1 || !strings.Contains(faults[0], "tmpfs") {
		t.Errorf("faults %q, want one that says tmpfs", faults)
	}
	a := assigner.Leased(fileassigner.LeaseStore(dir), assigner.LeaseConfig{})
	if _, err := a.Assign(t.Context(), assignertest.Domain()); !errors.Is(err, assigner.ErrStoreNotDurable) {
		t.Errorf("Assign: %v, want ErrStoreNotDurable", err)
	}
	risk := assigner.Leased(fileassigner.LeaseStore(dir), assigner.LeaseConfig{AllowUndurable: true})
	if _, err := risk.Assign(t.Context(), assignertest.Domain()); err != nil {
		t.Errorf("Assign with AllowUndurable: %v", err)
	}
	if r, err := fileassigner.SegmentSource(dir, fileassigner.SegmentConfig{}).Advance(t.Context(), "a", 1); !errors.Is(err, assigner.ErrStoreNotDurable) {
		t.Errorf("range %v, %v, want ErrStoreNotDurable", r, err)
	}
	if r, err := fileassigner.SegmentSource(dir, fileassigner.SegmentConfig{AllowUndurable: true}).Advance(t.Context(), "a", 1); err != nil || r.First != 1 {
		t.Errorf("with AllowUndurable: range %v, %v, want 1: a call that was refused has moved the counter", r, err)
	}
}
