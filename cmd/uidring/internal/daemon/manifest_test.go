package daemon

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

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
// and time for its end.
func TestProgramRunsAsInTheDeployment(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/kubernetes/serve/deployment.yaml")
	must(t, err)
	var m manifest
	must(t, yaml.Unmarshal(text, &m))
	pod := m.Spec.Template.Spec
	container := pod.Containers[0]
	secrets := t.TempDir()
	cert, key := pemPair(t, 1, time.Now().Add(time.Hour))
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
	c := launch(t, exec.Command("env", append(args, "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0")...))
	c.ready()

	client := clients(t, trusting(cert))["HTTP/1.1"]
	for path, want := range map[string]int{
		container.Live.Get.Path:  http.StatusOK,
		container.Ready.Get.Path: http.StatusOK,
		"/v1/id":                 http.StatusUnauthorized,
	} {
		if code, body, err := get(client, "https://"+c.at(path)+path); code != want || err != nil {
			t.Errorf("%s: status %d, want %d; %v\n%s", path, code, want, err, body)
		}
	}
}
