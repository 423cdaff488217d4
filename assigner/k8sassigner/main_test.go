package k8sassigner_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner/k8sassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

const (
	namespace = "orders-1.eu"
	role      = "../../docs/kubernetes/rbac.yaml"
)

// pod returns the cluster as a pod with the service account of a folder has it.
func pod(t *testing.T, address, folder string) k8sassigner.Cluster {
	t.Helper()
	host, port, _ := net.SplitHostPort(address)
	env := map[string]string{"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
	cluster, err := k8sassigner.InClusterAt(func(name string) string { return env[name] }, folder)
	testkit.Must(t, err)
	return cluster
}

// A kubernetes is an API server over an etcd.
type kubernetes struct {
	etcd, api *testserver.Server
	folder    string // of the API server
	account   string // the folder of a pod's service account
	admin     *http.Client
}

// startKubernetes starts an API server.
func startKubernetes(t *testing.T) *kubernetes {
	t.Helper()
	path, err := filepath.Abs(role)
	testkit.Must(t, err)
	k := &kubernetes{folder: t.TempDir(), account: t.TempDir()}
	// A SIGKILL loses no write of etcd, even without fsync, and a busy disk delays no test.
	k.etcd = testserver.Etcd(t, "--unsafe-no-fsync")
	k.api = testserver.Kubernetes(t, k.etcd, k.folder, path)
	authority := testkit.ReadFile(t, filepath.Join(k.folder, "certificate", "apiserver.crt"))
	admin := t.TempDir()
	for folder, token := range map[string]string{admin: "admin", k.account: "hunter2\n"} { // with the line feed of an editor
		write(t, filepath.Join(folder, "ca.crt"), authority)
		write(t, filepath.Join(folder, "namespace"), "ids")
		write(t, filepath.Join(folder, "token"), token)
	}
	k.allow(t, "hunter2")
	k.admin = pod(t, k.api.Addr(), admin).Client
	return k
}

func write(t *testing.T, file, text string) {
	t.Helper()
	testkit.Must(t, os.WriteFile(file, []byte(text), 0o600))
}

// allow makes a token the only one of the user ids.
func (k *kubernetes) allow(t *testing.T, token string) {
	t.Helper()
	write(t, filepath.Join(k.folder, "tokens"), "admin,admin,1,system:masters\nstranger-1,stranger,2\n"+token+",ids,3\n")
}

// give puts a token into the service account.
func (k *kubernetes) give(t *testing.T, token string) {
	t.Helper()
	write(t, filepath.Join(k.account, "token"), token)
}

// cluster returns the cluster as a new process has it. see is called before each request.
func (k *kubernetes) cluster(t *testing.T, see ...func(*http.Request)) k8sassigner.Cluster {
	t.Helper()
	cluster := pod(t, k.api.Addr(), k.account)
	for _, f := range see {
		cluster.Client.Transport = watch{cluster.Client.Transport, f}
	}
	return cluster
}

func (k *kubernetes) store(t *testing.T, name string) leasestore.Store {
	t.Helper()
	return k8sassigner.LeaseStore(k.cluster(t), name, k8sassigner.Config{})
}

// do sends a request as an administrator, and returns the answer.
func (k *kubernetes) do(t *testing.T, method, path, body string) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, k.api.DSN()+"/apis/coordination.k8s.io/v1/namespaces/ids/leases"+path, strings.NewReader(body))
	testkit.Must(t, err)
	request.Header.Set("Content-Type", "application/json")
	answer, err := k.admin.Do(request)
	testkit.Must(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 {
		t.Fatalf("%s %s: %s, %v\n%s", method, path, answer.Status, err, text)
	}
	return text
}

// names returns the names of all Lease objects with a label.
func (k *kubernetes) names(t *testing.T, selector string) (names []string) {
	t.Helper()
	var list struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	testkit.Must(t, json.Unmarshal(k.do(t, http.MethodGet, "?labelSelector="+selector, ""), &list))
	for _, item := range list.Items {
		names = append(names, item.Metadata.Name)
	}
	return names
}
