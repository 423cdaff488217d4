package daemon

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/test/testkit"
)

// image returns an instruction of the last stage of the Containerfile.
func image(t *testing.T, instruction string) string {
	t.Helper()
	_, last, _ := strings.Cut(testkit.ReadFile(t, "../../../../docs/operations/Containerfile"), "\nFROM scratch\n")
	found := regexp.MustCompile(`(?m)^` + instruction + ` (.*)$`).FindStringSubmatch(last)
	if found == nil {
		t.Fatalf("no %s in the last stage of the Containerfile:\n%s", instruction, last)
	}
	return found[1]
}

func TestProgramRunsAsInTheContainer(t *testing.T) {
	takesTime(t)
	if out, err := exec.Command("unshare", "--mount", "true").CombinedOutput(); err != nil {
		t.Skipf("needs mounts of its own: unshare: %v: %s", err, bytes.TrimSpace(out))
	}
	const inMemory = " UIDRING_ALLOW_UNDURABLE=true" // /data is here
	for store, environment := range map[string]string{"sqlite:///data/uidring.db": "", "file:///data": " UIDRING_STORE=file:///data"} {
		cmd := exec.Command("unshare", "--mount", "sh", "testdata/container.sh", t.TempDir(), os.Getenv(programEnv), image(t, "USER"), image(t, "ENV")+environment+inMemory)
		c := launch(t, cmd).ready()
		if got := c.log.find("ready")["store"]; got != store {
			t.Errorf("store %v, want %s", got, store)
		}
		proc := fmt.Sprintf("/proc/%d/", cmd.Process.Pid)
		status := testkit.ReadFile(t, proc+"status")
		for _, want := range []string{"Uid:\t65534\t65534\t", "Gid:\t65534\t65534\t", "CapEff:\t0000000000000000\n", "Groups:\t \n"} {
			if !strings.Contains(status, want) {
				t.Errorf("no %q in\n%s", want, status)
			}
		}
		if err := os.WriteFile(proc+"root/file", nil, 0o600); err == nil {
			t.Error("its root can be written to")
		}
		for path, url := range map[string]string{"/v1/id": c.url(), "/": c.adminURL()} {
			if code, _, err := get(http.DefaultClient, url+path); code != http.StatusOK {
				t.Errorf("%s: status %d, %v", path, code, err)
			}
		}
		c.terminate()
	}
}
