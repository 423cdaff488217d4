package disk_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/disk"
)

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func identity(t *testing.T, path string) string {
	t.Helper()
	id, err := disk.Identity(path)
	if err != nil || id == "" {
		t.Fatalf("Identity(%s) = %q, %v", path, id, err)
	}
	return id
}

func TestIdentityFollowsTheFile(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	write(t, a)
	write(t, b)
	first := identity(t, a)
	if identity(t, b) == first {
		t.Error("two files have one identity")
	}
	write(t, a) // in place
	if got := identity(t, a); got != first {
		t.Errorf("after a write: %q, was %q", got, first)
	}
	moved := filepath.Join(dir, "moved")
	if err := os.Rename(a, moved); err != nil {
		t.Fatal(err)
	}
	if got := identity(t, moved); got != first {
		t.Errorf("after a rename: %q, was %q", got, first)
	}
	if _, err := disk.Identity(a); !os.IsNotExist(err) {
		t.Errorf("Identity of no file: %v", err)
	}
}

// ext4 gives the number of a deleted inode to the next file. The clock of a file system has steps
// of some milliseconds.
func TestFileMadeInPlaceOfADeletedOneIsAnother(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux reports the time of birth here")
	}
	path := filepath.Join(t.TempDir(), "a")
	write(t, path)
	first, made := identity(t, path), modified(t, path)
	for now := made; now.Equal(made); now = modified(t, path) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		write(t, path)
	}
	if got := identity(t, path); got == first {
		t.Errorf("identity %q twice", got)
	}
}

func modified(t *testing.T, path string) time.Time {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime()
}

func TestIsOpen(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "a")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(want bool) {
		t.Helper()
		if open, err := disk.IsOpen(path); err != nil || open != want {
			t.Errorf("IsOpen = %v, %v, want %v", open, err, want)
		}
	}
	check(true)
	if err := os.Rename(path, path+"2"); err != nil {
		t.Fatal(err)
	}
	write(t, path)
	check(false)
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	check(false)
}
