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
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	deps := strings.Fields(string(out))
	if slices.Contains(deps, "database/sql") {
		t.Error("cached depends on database/sql")
	}
	const module = "github.com/uidring/uidring/"
	want := []string{
		"github.com/uidring/uidring", module + "assigner", module + "bitsalloc", module + "cached", module + "internal/disk", module + "internal/generator",
		module + "internal/keeper", module + "internal/take", module + "ringbuffer", "golang.org/x/sync/errgroup",
	}
	for _, dep := range deps {
		domain, _, _ := strings.Cut(dep, "/")
		if strings.Contains(domain, ".") && !slices.Contains(want, dep) {
			t.Errorf("cached depends on %s", dep)
		}
	}
}
