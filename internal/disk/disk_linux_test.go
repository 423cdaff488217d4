package disk

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/uidring/uidring/internal/test/testkit"
)

func TestPathFaultsNamesAMountedFile(t *testing.T) {
	dir := t.TempDir()
	path, mounted, link := filepath.Join(dir, "a"), filepath.Join(dir, "b c"), filepath.Join(dir, "link")
	write(t, path)
	write(t, mounted)
	testkit.Must(t, os.Symlink(mounted, link))
	if err := syscall.Mount(path, mounted, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("cannot mount a file here: %v", err)
	}
	defer func() { testkit.Must(t, syscall.Unmount(mounted, 0)) }()
	for path, want := range map[string]string{path: "", mounted: "the file is a mount point", link: "the file is a mount point"} {
		faults, err := PathFaults(path, "the file")
		if got := strings.Join(faults, ""); err != nil || (got == "") != (want == "") || !strings.HasPrefix(got, want) {
			t.Errorf("faults %q of %s, want %q: %v", got, path, want, err)
		}
	}
}
