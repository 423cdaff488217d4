package cached_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestBuildTagsChooseTheLanes asks the go command which file each build compiles. The tag purego,
// which changes the standard library's crypto as well, must not matter.
func TestBuildTagsChooseTheLanes(t *testing.T) {
	const pinned, locked = "lanes_pinned.go", "lanes_locked.go"
	for _, row := range []struct{ arch, tags, want string }{
		{"amd64", "", pinned},
		{"arm64", "", pinned},
		{"386", "", locked},
		{"amd64", "race", locked},
		{"amd64", "purego", pinned},
		{"amd64", "uidring_nopin", locked},
	} {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-tags", row.tags, "-f", "{{.GoFiles}}")
		cmd.Env = append(cmd.Environ(), "GOWORK=off", "GOARCH="+row.arch, "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v", cmd, err)
		}
		for _, file := range []string{pinned, locked} {
			if got := strings.Contains(string(out), file); got != (file == row.want) {
				t.Errorf("GOARCH=%s -tags %q: %s is compiled: %v, want %s alone", row.arch, row.tags, file, got, row.want)
			}
		}
	}
}
