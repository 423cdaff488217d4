package daemon

import (
	"bytes"
	"debug/elf"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

func TestProgramIsStatic(t *testing.T) {
	program, err := elf.Open(os.Getenv(programEnv))
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	for _, segment := range program.Progs {
		if segment.Type == elf.PT_INTERP || segment.Type == elf.PT_DYNAMIC {
			t.Errorf("has a segment %v, which asks for a dynamic linker", segment.Type)
		}
	}
}

// emptied is a script that runs the program as in the container: on a read-only root with nothing
// else, with a folder for data, as a user without a name or rights, in the environment of the
// image. It runs as the child of unshare, with its own mounts.
const emptied = `set -e
root=$1 program=$2 user=$3 environment=$4
mount -t tmpfs none "$root"
cp "$program" "$root/uidring"
mkdir "$root/data"
mount -t tmpfs -o uid="${user%:*}",gid="${user#*:}",mode=0700,noexec,nosuid,nodev none "$root/data"
mount -o remount,ro,nosuid,nodev "$root"
exec env -i $environment "$(command -v chroot)" --userspec="$user" --groups= "$root" /uidring serve --listen=127.0.0.1:0 --admin-listen=127.0.0.1:0 --log-format=json`

// image returns an instruction of the last stage of the Containerfile.
func image(t *testing.T, instruction string) string {
	t.Helper()
	text, err := os.ReadFile("../../../../docs/operations/Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	_, last, _ := strings.Cut(string(text), "\nFROM scratch\n")
	found := regexp.MustCompile(`(?m)^` + instruction + ` (.*)$`).FindStringSubmatch(last)
	if found == nil {
		t.Fatalf("no %s in the last stage of the Containerfile:\n%s", instruction, last)
	}
	return found[1]
}

func TestProgramRunsAsInTheContainer(t *testing.T) {
	if out, err := exec.Command("unshare", "--mount", "true").CombinedOutput(); err != nil {
		t.Skipf("needs mounts of its own: unshare: %v: %s", err, bytes.TrimSpace(out))
	}
	for store, environment := range map[string]string{
		"sqlite:///data/uidring.db": image(t, "ENV"),
		"file:///data":              image(t, "ENV") + " UIDRING_STORE=file:///data",
	} {
		const inMemory = " UIDRING_ALLOW_UNDURABLE=true" // /data is here
		t.Run(store, func(t *testing.T) { inContainer(t, store, environment+inMemory) })
	}
}

func inContainer(t *testing.T, store, environment string) {
	cmd := exec.Command("unshare", "--mount", "sh", "-c", emptied, "sh", t.TempDir(), os.Getenv(programEnv), image(t, "USER"), environment)
	c := launch(t, cmd)
	c.ready()
	if got := c.log.find("ready")["store"]; got != store {
		t.Errorf("store %v, want %s", got, store)
	}
	for field, want := range map[string]string{"Uid:": "65534", "Gid:": "65534", "CapEff:": "0000000000000000", "Groups:": ""} {
		if got := status(t, cmd.Process.Pid, field); got != want {
			t.Errorf("%s %q, want %q", field, got, want)
		}
	}
	root := fmt.Sprintf("/proc/%d/root/", cmd.Process.Pid)
	if err := os.WriteFile(root+"file", nil, 0o600); err == nil {
		t.Error("its root can be written to")
	}
	if files, err := os.ReadDir(root + "data"); err != nil || len(files) == 0 {
		t.Errorf("%d files in its data folder, %v", len(files), err)
	}
	client := clients(t, nil)["HTTP/1.1"]
	if _, err := fetch(t.Context(), client, c.url(), 1000); err != nil {
		t.Error(err)
	}
	if code, _, err := get(client, c.adminURL()+"/"); code != http.StatusOK {
		t.Errorf("page: status %d, %v", code, err)
	}
	c.signal(syscall.SIGTERM)
	c.wait()
	if !c.Cmd.ProcessState.Success() {
		t.Errorf("%v\n%s", c.Cmd.ProcessState, c.log)
	}
}

// status is a line of /proc/PID/status: of four numbers that are the same, one.
func status(t *testing.T, pid int, field string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			first, _, _ := strings.Cut(strings.TrimSpace(rest), "\t")
			return first
		}
	}
	t.Fatalf("no %s in\n%s", field, text)
	return ""
}
