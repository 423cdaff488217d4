package daemon

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// A manifest is the part of a Deployment that concerns the program.
type manifest struct {
	Spec struct {
		Template struct {
			Spec struct {
				Seconds    int `yaml:"terminationGracePeriodSeconds"`
				Containers []struct {
					Args  []string
					Env   []struct{ Name, Value string }
					Live  probe `yaml:"livenessProbe"`
					Ready probe `yaml:"readinessProbe"`
				}
			}
		}
	}
}

type probe struct {
	Get struct{ Path string } `yaml:"httpGet"`
}

// The Deployment of the service has settings with which the program runs, probes that it answers,
// and time for its end. Alerts and dashboards name metrics of such a server.
func TestProgramRunsAsInTheDeployment(t *testing.T) {
	var m manifest
	testkit.Must(t, yaml.Unmarshal([]byte(testkit.ReadFile(t, "../../../../docs/kubernetes/serve/deployment.yaml")), &m))
	pod := m.Spec.Template.Spec
	container := pod.Containers[0]
	secrets := t.TempDir()
	end := time.Now().Add(time.Hour)
	cert, key := testserver.Certificate(t, 1, end)
	for name, text := range map[string]string{"tls.crt": cert, "tls.key": key, "tokens": "orders 0123456789abcdef\n"} {
		write(t, filepath.Join(secrets, name), text)
	}
	var args []string
	for _, v := range container.Env {
		switch v.Name {
		case "UIDRING_STORE":
			v.Value = "sqlite:" + filepath.Join(testserver.DiskFolder(t), "ids.db")
		case "UIDRING_DRAIN":
			if drain, err := time.ParseDuration(v.Value); err != nil || time.Duration(pod.Seconds)*time.Second <= drain+20*time.Second {
				t.Errorf("%d s to end in, drain %s, %v; want more than drain, grace and a call to the store, 10 s each", pod.Seconds, v.Value, err)
			}
		}
		args = append(args, v.Name+"="+strings.Replace(v.Value, "/etc/uidring", secrets, 1))
	}
	args = append(append(args, os.Getenv(programEnv)), container.Args...)
	c := launch(t, exec.Command("env", append(args, "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--log-format=json", "--segments=orders")...)).ready()

	client := newClient(t, "HTTP/1.1", trusting(cert))
	var metrics string
	for _, ask := range []struct {
		token, path string
		want        int
	}{
		{"", container.Live.Get.Path, http.StatusOK}, {"", container.Ready.Get.Path, http.StatusOK}, {"another-0123456789", "/v1/id", http.StatusUnauthorized},
		{"0123456789abcdef", "/v1/id", http.StatusOK}, {"0123456789abcdef", "/metrics", http.StatusOK},
	} {
		status, body, err := getAs(client, ask.token, "https://"+c.at(ask.path)+ask.path)
		if metrics = body; status != ask.want {
			t.Errorf("%s: status %d, want %d; %v", ask.path, status, ask.want, err)
		}
	}
	for name, want := range map[string]string{"tokens loaded": "tokens: 1", "certificate loaded": "CN=certificate 1, until " + end.UTC().Format(time.RFC3339)} {
		if record := c.log.find(name); record == nil || record["contents"] != want {
			t.Errorf("record %v, want %s with %q", record, name, want)
		}
	}
	// The metric of the horizon appears after the first call of Horizon, and has a test of its own.
	for _, file := range []string{"alerts.yml", "alerts_test.yml", "dashboard.json", "../OPERATIONS.md"} {
		text := testkit.ReadFile(t, "../../../../docs/operations/"+file)
		for _, name := range regexp.MustCompile(`uidring_\w+`).FindAllString(text, -1) {
			if !strings.HasPrefix(name, "uidring_horizon_") && !regexp.MustCompile(`(?m)^`+name+`[{ ]`).MatchString(metrics) {
				t.Errorf("%s: no server exposes %s", file, name)
			}
		}
	}
}

// systemd reads the unit without a complaint, and finds little to object to.
func TestUnitIsUnderstoodAndHardened(t *testing.T) {
	analyze := testserver.Program(t, "systemd-analyze", "systemd")
	text := testkit.ReadFile(t, "../../../../docs/operations/uidring.service")
	// Without a folder, so that systemd finds it in /usr/bin and in /usr/local/bin.
	const start = "\nExecStart=uidring serve\n"
	if !strings.Contains(text, start) {
		t.Errorf("the unit has no line %q", start)
	}
	if !strings.Contains(text, "\nStateDirectory=uidring uidring-known\n") {
		t.Error("the unit has no folder for the notes of stores")
	}
	unit := filepath.Join(t.TempDir(), "uidring.service")
	write(t, unit, strings.Replace(text, start, "\nExecStart="+os.Getenv(programEnv)+" serve\n", 1))
	// The threshold is ten times the printed exposure: 0 is best, 100 is worst.
	for _, args := range [][]string{{"verify", "--man=no", unit}, {"security", "--offline=true", "--threshold=15", unit}} {
		out, err := exec.Command(analyze, args...).CombinedOutput()
		if err != nil || args[0] == "verify" && len(out) > 0 {
			t.Errorf("systemd-analyze %s: %v\n%s", args[0], err, out)
		}
	}
}
