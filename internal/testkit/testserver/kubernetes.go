package testserver

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// adminToken is the token of the user that may do everything.
const adminToken = "admin"

// Kubernetes starts a Kubernetes API server with Lease objects, over an etcd. It builds the server,
// which takes minutes the first time. The folder has the server's certificate, in the file
// certificate/apiserver.crt, and the file tokens: each line is a token and a user. The token admin
// belongs to the user admin, who has all rights; the user ids has the rights of the Role in a
// manifest, in the namespace ids.
func Kubernetes(t testing.TB, etcd *Server, folder, role string) *Server {
	t.Helper()
	return start(t, recipe{
		name:    "Kubernetes",
		program: KubernetesProgram(t),
		prepare: func(*Server) error {
			return os.WriteFile(filepath.Join(folder, "tokens"), []byte(adminToken+" admin\n"), 0o600)
		},
		command: func(s *Server) []string {
			return []string{"-etcd", etcd.DSN(), "-listen", s.addr, "-folder", folder, "-role", role}
		},
		ready: serving,
		dsn:   func(addr string) string { return "https://" + addr },
		stop:  syscall.SIGTERM,
	}, nil)
}

// KubernetesProxy listens on this computer and passes requests to an API server with the rights of
// the user admin, as kubectl proxy does. It returns host and port. folder is the folder of
// Kubernetes.
func KubernetesProxy(t testing.TB, api *Server, folder string) string {
	t.Helper()
	authority, err := os.ReadFile(filepath.Join(folder, "certificate", "apiserver.crt"))
	if err != nil {
		t.Fatal("testserver: ", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	target, err := url.Parse(api.DSN())
	if err != nil {
		t.Fatal("testserver: ", err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Set("Authorization", "Bearer "+adminToken)
		},
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}},
		ErrorLog:  log.New(io.Discard, "", 0), // of a server that is down
	})
	t.Cleanup(proxy.Close)
	return proxy.Listener.Addr().String()
}

// KubernetesProgram builds the API server and returns its path. It skips a test that is to be
// short.
func KubernetesProgram(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("the API server of Kubernetes takes minutes to build")
	}
	program, err := buildKubernetes()
	if err != nil {
		t.Fatal(err)
	}
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
	out, err := exec.Command("go", "build", "-tags", "kubeapi", "-o", program, "github.com/uidring/uidring/internal/testkit/kubeapi").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("testserver: build the API server: %w\n%s", err, out)
	}
	return program, nil
})

// serving asks whether the server has started, and serves Lease objects.
func serving(addr string) error { return serves("https://"+addr+"/healthz", adminToken, "") }
