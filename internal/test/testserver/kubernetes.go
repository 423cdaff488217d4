package testserver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/uidring/uidring/internal/test/testkit"
)

// adminToken is the token of the user that may do everything.
const adminToken = "admin"

// Kubernetes starts a Kubernetes API server with Lease objects, over an etcd. It builds the server,
// which takes minutes the first time. The folder has the server's certificate, in the file
// certificate/apiserver.crt, and the file tokens: each line is a token, a user, its number and its
// group. The token admin is in the group system:masters, which has all rights; the user ids has the
// rights of the Role in a manifest, in the namespace ids.
func Kubernetes(t testing.TB, etcd *Server, folder, role string) *Server {
	t.Helper()
	return start(t, kind{
		name:     "Kubernetes",
		programs: []string{KubernetesProgram(t)},
		prepare: func(*Server) {
			testkit.Must(t, os.WriteFile(filepath.Join(folder, "tokens"), []byte(adminToken+",admin,1,system:masters\n"), 0o600))
		},
		command: func(s *Server) []string {
			return []string{"-etcd", etcd.DSN(), "-listen", s.addr, "-folder", folder, "-role", role}
		},
		ready: func(addr string) error {
			return serves("https://"+addr+"/apis/coordination.k8s.io/v1/leases", adminToken, "LeaseList")
		},
		url: "https://%s",
	}, nil)
}

// KubernetesProgram builds the API server and returns its path. It skips a test that is to be
// short.
func KubernetesProgram(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("the API server of Kubernetes takes minutes to build")
	}
	program, err := buildKubernetes()
	testkit.Must(t, err)
	return program
}

// buildKubernetes leaves the program in the user's cache, where the next test finds it. It has no
// race detector, which would take many minutes.
var buildKubernetes = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	program := filepath.Join(cache, "uidring", "kubeapi")
	_, file, _, _ := runtime.Caller(0)
	build := exec.Command("go", "build", "-tags", "kubeapi", "-o", program, ".")
	build.Dir = filepath.Join(filepath.Dir(file), "../systest/kubeapi")
	build.Env = append(os.Environ(), "GOWORK=") // with the versions of the workspace, also for a test outside it
	out, err := build.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("testserver: build the API server: %w\n%s", err, out)
	}
	return program, nil
})
