package cached_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestNoDatabaseDriverIsLinked keeps programs that bring their own worker ID free of database
// packages.
func TestNoDatabaseDriverIsLinked(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", ".")
	cmd.Env = append(cmd.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil || slices.Contains(strings.Fields(string(out)), "database/sql") {
		t.Errorf("%v: %v, or cached depends on database/sql", cmd, err)
	}
}
