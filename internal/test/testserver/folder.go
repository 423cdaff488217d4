package testserver

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/uidring/uidring/internal/disk"
)

// DiskFolder returns the absolute path of an empty folder on a local disk, which is removed when
// the test ends. The folder for temporary files is in memory on some hosts, where stores refuse to
// be; then it is in the working folder.
func DiskFolder(t testing.TB) string {
	t.Helper()
	for _, parent := range []string{t.TempDir(), "."} {
		dir, err := os.MkdirTemp(parent, ".disk-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		if dir, err = filepath.Abs(dir); err != nil {
			t.Fatal(err)
		}
		faults, err := disk.Faults(dir, "the folder")
		if err != nil {
			t.Fatal(err)
		}
		if len(faults) == 0 {
			return dir
		}
	}
	t.Skip("neither the folder for temporary files nor this one is on a local disk")
	return ""
}
