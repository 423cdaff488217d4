package testserver

import (
	"go/build"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/disk"
	"github.com/uidring/uidring/internal/test/testkit"
)

// missing ends the test: it is skipped on a developer's machine and fails where CI is true, unless
// .ci/unpack has written that the archive does not deliver the package.
func missing(t testing.TB, server, apt string) {
	t.Helper()
	const format = "testserver: missing: %s (Debian package %s)"
	name, _, _ := strings.Cut(apt, " ")
	if text, err := os.ReadFile(filepath.Join(newest(), "undelivered")); err == nil && strings.Contains(string(text), "deliver "+name+" ") {
		t.Skipf(format, server, apt+", which the archive does not deliver today")
	}
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

// newest returns the folder into which .ci/unpack puts servers of Debian's newest suite.
func newest() string {
	parent, _ := os.UserCacheDir()
	if os.Geteuid() == 0 {
		parent = "/var/cache"
	}
	return filepath.Join(parent, "uidring-newest")
}

// prefersNewest reports whether unpacked packages come before installed ones.
func prefersNewest() bool {
	prefer, _ := strconv.ParseBool(os.Getenv("UIDRING_NEWEST"))
	return prefer
}

// find returns the absolute path of the first of some programs, from PATH, or from where packages
// put servers that are not meant for PATH, or from an unpacked package. With UIDRING_NEWEST=true
// unpacked packages come first.
func find(names ...string) (path string, ok bool) {
	unpacked := []string{filepath.Join(newest(), "*/usr/sbin"), filepath.Join(newest(), "*/usr/bin"), filepath.Join(newest(), "*/usr/lib/postgresql/*/bin")}
	folders := slices.Concat(filepath.SplitList(os.Getenv("PATH")), []string{
		"/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/mysql/bin",
		"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin",
		"/opt/homebrew/bin", "/opt/homebrew/opt/*/bin", filepath.Join(build.Default.GOPATH, "bin"),
	}, unpacked)
	if prefersNewest() {
		folders = slices.Concat(unpacked, folders)
	}
	for _, name := range names {
		if filepath.Base(name) != name { // a path
			folders = []string{""}
		}
		for _, folder := range folders {
			found, _ := filepath.Glob(filepath.Join(folder, name))
			for _, path := range slices.Backward(found) { // /usr/lib/postgresql/17/bin before .../16/bin
				if path, err := filepath.Abs(path); err == nil && runs(path) {
					return path, true
				}
			}
		}
	}
	return "", false
}

// runs reports whether a path is a program and not another one's: some packages of MariaDB have a
// link named mysqld.
func runs(path string) bool {
	info, err := os.Stat(path)
	target, errLink := filepath.EvalSymlinks(path)
	return err == nil && errLink == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 &&
		(filepath.Base(path) != "mysqld" || filepath.Base(target) != "mariadbd")
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
