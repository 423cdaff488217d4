//go:build darwin || linux

package fileassigner_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/process"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testkit"
)

// A process that is stopped within an operation keeps the lock.
func TestHeldLockEndsWithTheContext(t *testing.T) {
	dir, row := heldFolder(t)
	s := fileassigner.LeaseStore(dir, fileassigner.Config{})
	lock, err := os.Open(filepath.Join(dir, "lock"))
	testkit.Must(t, err)
	testkit.Must(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	next := row
	next.Fence++
	if ok, err := s.Swap(ctx, row, next, time.Hour); ok || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Swap while another holds the lock: %v, %v; want DeadlineExceeded", ok, err)
	}
	testkit.Must(t, lock.Close())
	if got := stores.Load(t, s, row.WorkerID); got != row {
		t.Errorf("row %+v after the lock was free, want %+v", got, row)
	}
}

const folderEnv = "UIDRING_LEASE_FOLDER"

// TestFullDisk limits the file size to each number of bytes below the size of the new state, in a
// process of its own.
func TestFullDisk(t *testing.T) {
	var dir string
	if child, err := process.Role(folderEnv, &dir); err != nil {
		t.Fatal(err)
	} else if !child {
		held, _ := heldFolder(t)
		for name, dir := range map[string]string{"held": held, "empty": diskFolder(t)} {
			cmd := process.Again(folderEnv, dir, "-test.run=^TestFullDisk$", "-test.count=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s folder: %v\n%s", name, err, out)
			}
		}
		return
	}
	signal.Ignore(syscall.SIGXFSZ) // so that a write ends with an error
	s := fileassigner.LeaseStore(dir, fileassigner.Config{})
	for limit, failed := uint64(0), 0; ; limit += 5 {
		before, _ := os.ReadFile(filepath.Join(dir, "state.json"))
		full(t, limit)
		ok, err := s.Swap(t.Context(), leasestore.Row{}, leasestore.Row{WorkerID: 77, Version: 1, Token: "mine"}, time.Hour)
		full(t, math.MaxUint64)
		if err == nil && ok {
			if failed < 20 {
				t.Errorf("the swap failed with %d limits only", failed)
			}
			break
		}
		failed++
		if ok || !errors.Is(err, syscall.EFBIG) {
			t.Fatalf("Swap with a limit of %d bytes: %v, %v; want EFBIG", limit, ok, err)
		}
		after, _ := os.ReadFile(filepath.Join(dir, "state.json"))
		_, errNew := os.Stat(filepath.Join(dir, "state.json.new"))
		if len(before) > 0 && !bytes.Equal(before, after) || !errors.Is(errNew, fs.ErrNotExist) {
			t.Fatalf("a limit of %d bytes changed the state, or left half a state (%v):\n%s%s", limit, errNew, before, after)
		}
	}
	if row := stores.Load(t, s, 77); row.Token != "mine" {
		t.Errorf("row %+v after there was room", row)
	}
}

// full sets the size that this process may give to a file.
func full(t *testing.T, bytes uint64) {
	t.Helper()
	var l syscall.Rlimit
	testkit.Must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l))
	l.Cur = min(bytes, l.Max)
	testkit.Must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l))
}
