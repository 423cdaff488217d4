package testserver

import (
	"go/build"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/uidring/uidring/internal/disk"
	"github.com/uidring/uidring/internal/test/testkit"
)

// missing ends the test: it is skipped on a developer's machine and fails where CI is true.
func missing(t testing.TB, server, apt string) {
	t.Helper()
	const format = "testserver: missing: %s (Debian package %s)"
	if ci, _ := strconv.ParseBool(os.Getenv("CI")); ci {
		t.Fatalf(format, server, apt)
	}
	t.Skipf(format, server, apt)
}

// Program returns the path of a client program. Where it is not installed the test ends as it does
// for a server; apt is the Debian package that has it.
func Program(t testing.TB, name, apt string) string {
	t.Helper()
	path, ok := find(name)
	if !ok {
		missing(t, name, apt)
	}
	return path
}

// find returns the absolute path of the first of some programs, from PATH or from where packages
// put servers that are not meant for PATH.
func find(names ...string) (path string, ok bool) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			if path, err = filepath.Abs(path); err == nil {
				return path, true
			}
		}
		for _, pattern := range [...]string{
			"/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/mysql/bin",
			"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin",
			"/opt/homebrew/bin", "/opt/homebrew/opt/*/bin", filepath.Join(build.Default.GOPATH, "bin"),
		} {
			found, _ := filepath.Glob(filepath.Join(pattern, name))
			for _, path := range slices.Backward(found) { // /usr/lib/postgresql/17/bin before .../16/bin
				if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
					return path, true
				}
			}
		}
	}
	return "", false
}

// An account is a user that a server runs as in place of root.
type account struct{ uid, gid int }

// lookupAccount returns the first of some users that exists, or nil.
func lookupAccount(names ...string) *account {
	for _, name := range names {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.Atoi(u.Uid) // decimal, except on Windows
			gid, _ := strconv.Atoi(u.Gid)
			return &account{uid, gid}
		}
	}
	return nil
}

// DiskFolder returns the absolute path of an empty folder on a local disk, which is removed when
// the test ends. The folder for temporary files is in memory on some hosts, where stores refuse to
// be; then it is in the working folder.
func DiskFolder(t testing.TB) string {
	t.Helper()
	for _, parent := range []string{t.TempDir(), "."} {
		dir, err := os.MkdirTemp(parent, ".disk-")
		testkit.Must(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		if dir, err = filepath.Abs(dir); err != nil {
			t.Fatal(err)
		}
		faults, err := disk.Faults(dir, "the folder")
		testkit.Must(t, err)
		if len(faults) == 0 {
			return dir
		}
	}
	t.Skip("neither the folder for temporary files nor this one is on a local disk")
	return ""
}
