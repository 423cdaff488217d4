package fileassigner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A superuser may open every folder, so the errors are given here.
func TestAdviceFollowsTheError(t *testing.T) {
	_, missing := os.OpenRoot(filepath.Join(t.TempDir(), "missing"))
	for _, row := range []struct {
		err  error
		want string // "" for the error alone
	}{
		{missing, "not mounted"},
		{&fs.PathError{Op: "open", Path: "ids", Err: syscall.EACCES}, "needs the rights"},
		{&fs.PathError{Op: "open", Path: "ids", Err: syscall.EPERM}, "needs the rights"},
		{&fs.PathError{Op: "open", Path: "ids", Err: syscall.ENOTDIR}, ""},
	} {
		err := advised(row.err)
		if !errors.Is(err, row.err) || !strings.Contains(err.Error(), row.want) || (row.want == "") != (err.Error() == row.err.Error()) {
			t.Errorf("%v, want the advice %q", err, row.want)
		}
	}
}
