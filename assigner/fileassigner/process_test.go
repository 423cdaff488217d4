//go:build darwin || linux

package fileassigner_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/internal/test/process"
)

const swapperEnv = "UIDRING_LEASE_SWAPPER"

// childFolder returns the folder of a process that a test has started, or "".
func childFolder(t *testing.T) (dir string) {
	t.Helper()
	if _, err := process.Role(swapperEnv, &dir); err != nil {
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
	swapper := process.Play(t, swapperEnv, dir, "-test.run=^TestSwapper$", "-test.count=1")
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
