package daemon

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/test/testserver"
)

// systemd reads the unit without a complaint, and finds little to object to.
func TestUnitIsUnderstoodAndHardened(t *testing.T) {
	analyze := testserver.Program(t, "systemd-analyze", "systemd")
	text, err := os.ReadFile("../../../../docs/operations/uidring.service")
	must(t, err)
	// Without a folder, so that systemd finds it in /usr/bin and in /usr/local/bin.
	const start = "\nExecStart=uidring serve\n"
	if !strings.Contains(string(text), start) {
		t.Errorf("the unit has no line %q", start)
	}
	if !strings.Contains(string(text), "\nStateDirectory=uidring uidring-known\n") {
		t.Error("the unit has no folder for the notes of stores")
	}
	unit := filepath.Join(t.TempDir(), "uidring.service")
	write(t, unit, strings.Replace(string(text), start, "\nExecStart="+os.Getenv(programEnv)+" serve\n", 1))
	// The threshold is ten times the printed exposure: 0 is best, 100 is worst.
	for _, args := range [][]string{{"verify", "--man=no", unit}, {"security", "--offline=true", "--threshold=15", unit}} {
		out, err := exec.Command(analyze, args...).CombinedOutput()
		if err != nil || args[0] == "verify" && len(out) > 0 {
			t.Errorf("systemd-analyze %s: %v\n%s", args[0], err, out)
		}
	}
}
