//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package fileassigner_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/fileassigner"
)

const folderEnv = "UIDRING_LEASE_FOLDER"

// again runs one test of this binary in a process of its own, on a folder.
func again(t *testing.T, test, dir string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^"+test+"$", "-test.count=1")
	cmd.Env = append(os.Environ(), folderEnv+"="+dir)
	return cmd
}

// TestSwapper raises a fence for ever, and prints each fence.
func TestSwapper(t *testing.T) {
	dir := os.Getenv(folderEnv)
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
	cmd := again(t, "TestSwapper", dir)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(stdout); lines.Scan(); said-- {
		text, ok := strings.CutPrefix(lines.Text(), "fence ")
		n, err := strconv.ParseInt(text, 10, 64)
		if !ok || err != nil {
			t.Errorf("the swapper says %q", lines.Text())
			break
		}
		fence = n
		if said == 1 {
			_ = cmd.Process.Kill() // its earlier output is still read
		}
	}
	if err := cmd.Wait(); cmd.ProcessState.Exited() {
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
