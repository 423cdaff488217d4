//go:build darwin || linux

package fileassigner_test

import (
	"bytes"
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
)

// TestFullDisk limits the file size to each number of bytes below the size of the new state, in a
// process of its own.
func TestFullDisk(t *testing.T) {
	dir := childFolder(t)
	if dir == "" {
		held, _ := heldFolder(t)
		for name, dir := range map[string]string{"held": held, "empty": diskFolder(t)} {
			cmd, err := process.Again(folderEnv, dir, only("TestFullDisk")...)
			if err != nil {
				t.Fatal(err)
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s folder: %v\n%s", name, err, out)
			}
		}
		return
	}
	signal.Ignore(syscall.SIGXFSZ) // so that a write ends with an error
	s := fileassigner.LeaseStore(dir)
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
		if len(before) > 0 && !bytes.Equal(before, after) {
			t.Fatalf("the state has changed with a limit of %d bytes:\n%s%s", limit, before, after)
		}
		if _, err := os.Stat(filepath.Join(dir, "state.json.new")); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("half a state was left with a limit of %d bytes: %v", limit, err)
		}
	}
	if row, err := s.Load(t.Context(), 77); err != nil || row.Token != "mine" {
		t.Errorf("row %+v, %v after there was room", row, err)
	}
}

// full sets the size that this process may give to a file.
func full(t *testing.T, bytes uint64) {
	t.Helper()
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		t.Fatal(err)
	}
	l.Cur = min(bytes, l.Max)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		t.Fatal(err)
	}
}
