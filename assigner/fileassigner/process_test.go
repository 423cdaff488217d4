//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package fileassigner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/internal/test/process"
)

const folderEnv = "UIDRING_LEASE_FOLDER"

// only returns arguments for this program to run one test.
func only(test string) []string { return []string{"-test.run=^" + test + "$", "-test.count=1"} }

// childFolder returns the folder of a process that a test has started, or "".
func childFolder(t *testing.T) (dir string) {
	t.Helper()
	if _, err := process.Role(folderEnv, &dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestSwapper raises a fence for ever, and prints each fence.
func TestSwapper(t *testing.T) {
	dir := childFolder(t)
	if dir == "" {
		t.Skip("run by TestKilledProcessLeavesAllItHasAcknowledged")
	}
	s := fileassigner.LeaseStore(dir)
	for {
		row, err := s.Load(t.Context(), 5)
		if err != nil {
			t.Fatal(err)
		}
		next := row
		next.WorkerID, next.Version, next.Token = 5, 1, "mine"
		next.Fence++
		if ok, err := s.Swap(t.Context(), row, next, time.Hour); !ok || err != nil {
			t.Fatal(ok, err)
		}
		fmt.Println("fence", next.Fence)
	}
}

func TestKilledProcessLeavesAllItHasAcknowledged(t *testing.T) {
	dir := diskFolder(t)
	rounds := 25
	if testing.Short() {
		rounds = 5
	}
	for round := range rounds {
		acknowledged := swapAndKill(t, dir, 1+round%7)
		// The last swap may have taken effect without being printed.
		row, err := fileassigner.LeaseStore(dir).Load(t.Context(), 5)
		if err != nil || row.Fence < acknowledged || row.Fence > acknowledged+1 {
			t.Fatalf("fence %d, %v, after a kill; want %d or one more", row.Fence, err, acknowledged)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 3 {
		t.Errorf("the folder has %v, %v; want lock, state.json and at most one unfinished state", entries, err)
	}
}

// swapAndKill kills a swapper after it has printed a number of fences, and returns the last one.
func swapAndKill(t *testing.T, dir string, said int) (fence int64) {
	t.Helper()
	swapper := process.Play(t, folderEnv, dir, only("TestSwapper")...)
	for line, err := swapper.Line(); err == nil; line, err = swapper.Line() { // to the last line before the kill
		text, ok := strings.CutPrefix(line, "fence ")
		n, err := strconv.ParseInt(text, 10, 64)
		if !ok || err != nil {
			t.Fatalf("the swapper says %q", line)
		}
		fence = n
		if said--; said == 0 {
			swapper.Kill()
		}
	}
	if err := swapper.Wait(); swapper.Cmd.ProcessState.Exited() {
		t.Fatalf("the swapper ended by itself: %v", err)
	}
	return fence
}

func TestFilesArePrivate(t *testing.T) {
	dir, _ := heldFolder(t)
	for _, name := range []string{"lock", "state.json"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("%s has mode %v, %v; want 0600", name, info.Mode(), err)
		}
	}
}

// A process that is stopped within an operation keeps the lock.
func TestHeldLockEndsWithTheContext(t *testing.T) {
	dir, row := heldFolder(t)
	lock, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	next := row
	next.Fence++
	if ok, err := fileassigner.LeaseStore(dir).Swap(ctx, row, next, time.Hour); ok || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Swap while another holds the lock: %v, %v; want DeadlineExceeded", ok, err)
	}
	done := make(chan error, 1)
	go func() {
		got, err := fileassigner.LeaseStore(dir).Load(t.Context(), row.WorkerID)
		if err == nil && got != row {
			err = fmt.Errorf("row %+v, want %+v", got, row)
		}
		done <- err
	}()
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("Load after the lock was free: %v", err)
	}
}
