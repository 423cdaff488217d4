package disk

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

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

func TestSecondPathToAFileIsAFault(t *testing.T) {
	dir := t.TempDir()
	path, other, link := filepath.Join(dir, "a"), filepath.Join(dir, "b c"), filepath.Join(dir, "link")
	for _, path := range []string{path, other} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(path, want string) {
		t.Helper()
		faults, err := PathFaults(path, "the file")
		if got := strings.Join(faults, "; "); err != nil || (got == "") != (want == "") || !strings.HasPrefix(got, want) {
			t.Errorf("faults %q of %s, want %q: %v", got, path, want, err)
		}
	}
	check(path, "")
	if err := os.Link(path, link); err != nil {
		t.Fatal(err)
	}
	check(path, "the file has 2 hard links")
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount(path, other, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("cannot mount a file here: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(other, 0); err != nil {
			t.Error(err)
		}
	}()
	check(path, "")
	check(other, "the file is a mount point")
	check(link, "the file is a mount point")
}
