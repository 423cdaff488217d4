package disk

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/uidring/uidring/internal/test/testkit"
)

func write(t *testing.T, path string) {
	t.Helper()
	testkit.Must(t, os.WriteFile(path, []byte("text"), 0o600))
}

func identity(t *testing.T, path string) string {
	t.Helper()
	id, err := Identity(path)
	if err != nil || id == "" {
		t.Fatalf("Identity(%s) = %q, %v", path, id, err)
	}
	return id
}

func TestIdentityFollowsTheFile(t *testing.T) {
	dir := t.TempDir()
	a, moved := filepath.Join(dir, "a"), filepath.Join(dir, "moved")
	write(t, a)
	first := identity(t, a)
	write(t, a) // in place
	testkit.Must(t, os.Rename(a, moved))
	if got := identity(t, moved); got != first {
		t.Errorf("after a write and a rename: %q, was %q", got, first)
	}
	if _, err := Identity(a); !os.IsNotExist(err) {
		t.Errorf("Identity of no file: %v", err)
	}
	write(t, a)
	if identity(t, a) == first {
		t.Error("two files have one identity")
	}
	if runtime.GOOS != "linux" {
		return // only Linux reports the time of birth here
	}
	// ext4 gives the number of a deleted inode to the next file. The clock of a file system has
	// steps of some milliseconds.
	made, err := os.Stat(moved)
	testkit.Must(t, err)
	for now := made; now.ModTime().Equal(made.ModTime()); {
		testkit.Must(t, os.Remove(moved))
		write(t, moved)
		now, err = os.Stat(moved)
		testkit.Must(t, err)
	}
	if got := identity(t, moved); got == first {
		t.Errorf("identity %q twice", got)
	}
}

func TestIsOpen(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "a")
	file, err := os.Create(path)
	testkit.Must(t, err)
	check := func(want bool) {
		t.Helper()
		if open, err := IsOpen(path); err != nil || open != want {
			t.Errorf("IsOpen = %v, %v, want %v", open, err, want)
		}
	}
	check(true)
	testkit.Must(t, os.Rename(path, path+"2"))
	write(t, path)
	check(false)
	testkit.Must(t, file.Close())
}

func TestIsMountPoint(t *testing.T) {
	const mountinfo = "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n" +
		"42 22 254:0 /data/a.db /srv/my\\040file\\134.db rw,relatime shared:1 - ext4 /dev/vda rw\n" +
		"43 22 0:5 / /srv rw - tmpfs none rw\n\n"
	for path, want := range map[string]bool{
		"/": true, "/srv": true, `/srv/my file\.db`: true,
		"/srv/my": false, "/data/a.db": false, "/srv/other": false, "": false,
	} {
		if got := isMountPoint(mountinfo, path); got != want {
			t.Errorf("isMountPoint(%q) = %v, want %v", path, got, want)
		}
	}
}
