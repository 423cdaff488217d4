package k8sassigner_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/k8sassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/storecall"
	"github.com/uidring/uidring/internal/test/scripts"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// The API server, etcd and both are down in turn.
func TestConformance(t *testing.T) {
	k := startKubernetes(t)
	var namespaces, outages atomic.Int64
	turns := [][]*testserver.Server{{k.api}, {k.etcd}, {k.etcd, k.api}}
	down := func(*testing.T) (up func()) {
		servers := turns[int(outages.Add(1))%len(turns)]
		for _, s := range servers {
			s.Kill9()
		}
		return func() {
			for _, s := range servers {
				s.Restart()
			}
		}
	}
	open := func(t *testing.T) assignertest.StoreFixture {
		name := fmt.Sprint("namespace-", namespaces.Add(1))
		return assignertest.StoreFixture{
			Handle: func() leasestore.Store { return k.store(t, name) },
			Other:  func(other string) leasestore.Store { return k.store(t, other) },
			Through: func(w *assignertest.Wire) leasestore.Store {
				cluster := k.cluster(t)
				k8sassigner.WrapConns(cluster, w.Wrap)
				return k8sassigner.LeaseStore(cluster, name, k8sassigner.Config{})
			},
			Kill: func(t *testing.T) { down(t)() },
			Down: down,
		}
	}
	assignertest.RunStore(t, open)
	assignertest.RunFaults(t, open)
}

// These tests share a server, which takes seconds to start.
func TestStore(t *testing.T) {
	k := startKubernetes(t)
	for name, test := range map[string]func(*testing.T, *kubernetes){
		"RenewalTakesFourRequests": func(t *testing.T, k *kubernetes) {
			var requests atomic.Int64
			s := k8sassigner.LeaseStore(k.cluster(t, func(*http.Request) { requests.Add(1) }), namespace, k8sassigner.Config{})
			stores.RenewalTakes(t, s, 4, requests.Load)
		},
		"DeletedRowIsNotCreatedAgain": deletedRowIsNotCreatedAgain,
		"RestoredObjects":             restoredObjectsAreQuarantined,
		"Example": func(t *testing.T, k *kubernetes) {
			inCluster = func() (k8sassigner.Cluster, error) { return k.cluster(t), nil }
			testkit.Example(t, ExampleLeaseStore)
		},
	} {
		t.Run(name, func(t *testing.T) { test(t, k) })
	}
}

func TestLeaseStoreRefusesArgumentsThatDoNotFit(t *testing.T) {
	stores.Fail(t, k8sassigner.LeaseStore(k8sassigner.Cluster{}, "", k8sassigner.Config{}), "Client is required", `URL ""`, `Namespace ""`, `namespace ""`)
	cluster := k8sassigner.Cluster{Client: http.DefaultClient, URL: "https://me:hunter2@host", Namespace: "Ids"}
	stores.Fail(t, k8sassigner.LeaseStore(cluster, "a/b", k8sassigner.Config{}), `URL "https://xxxxx@host"`, `Namespace "Ids", allowed: the name of a Kubernetes namespace`, `namespace "a/b", allowed: 1 to 64`)
}

func TestInClusterOutsideAPodIsAnError(t *testing.T) {
	_, err := k8sassigner.InClusterAt(func(string) string { return "" }, t.TempDir())
	stores.WantError(t, err, nil, "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "automountServiceAccountToken")
}

// TestScripts runs testdata/answers.txt. A server gives each answer behind >, a status and a text,
// and below it the script has the error of Status. The server redirects to a page that gives the
// text with status 200, and its answer with that status has no date.
func TestScripts(t *testing.T) {
	scripts.Each(t, func(t *testing.T, x *testkit.Script, words testkit.Words) {
		code := int(words.Number(0))
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/moved" {
				if code == http.StatusOK {
					w.Header()["Date"] = nil
				}
				w.Header().Set("Location", "/moved")
				w.WriteHeader(code)
			}
			_, _ = w.Write([]byte(strings.Join(words[1:], " ")))
		}))
		defer server.Close()
		s := k8sassigner.LeaseStore(k8sassigner.Cluster{Client: server.Client(), URL: server.URL, Namespace: "ids"}, namespace, k8sassigner.Config{})
		stores.Fail(t, s, "Kubernetes at "+server.URL+", namespace ids: ")
		_, err := s.Status(t.Context())
		x.Print("  %s", strings.ReplaceAll(err.Error(), server.URL, "URL"))
		x.Print("  passes: %v", storecall.Passes(err))
	})
}

// The Role of the manifest is enough, and the token is read again after it was replaced.
func TestLeaseStoreNeedsTheRoleAndReadsTheTokenAgain(t *testing.T) {
	k := startKubernetes(t)
	s := k.store(t, namespace)
	works := func() {
		t.Helper()
		testkit.Must(t, errors.Join(stores.EveryCall(t.Context(), t, s, time.Minute)...))
	}
	works()
	k.allow(t, "hunter2-new")
	stores.Fail(t, s, "401 Unauthorized: Unauthorized; the API server does not accept the token")
	k.give(t, "hunter2-new")
	works()
	k.give(t, "stranger-1")
	stores.Fail(t, s, "; grant the service account get, list, create and update")
}

// People see rows with kubectl get leases, and the objects fit the types of the API.
func TestLeaseObjectsShowTheirRows(t *testing.T) {
	k := startKubernetes(t)
	s := k.store(t, namespace)
	free := stores.Sample()
	free.WorkerID, free.Token = 0, ""
	held := stores.Create(t, s, stores.Sample(), time.Minute)
	stores.Create(t, s, free, 0)
	if ok, err := s.SwapMeta(t.Context(), leasestore.Meta{}, leasestore.Meta{Version: 1, Token: "T"}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	stores.Status(t, s)
	const heldName = "uidring-orders-1.eu-4007"
	for selector, want := range map[string]string{
		"app.kubernetes.io/managed-by=uidring":     "[uidring uidring-orders-1.eu-0 " + heldName + " uidring-orders-1.eu-meta]",
		"uidring.github.io/namespace=" + namespace: "[uidring-orders-1.eu-0 " + heldName + " uidring-orders-1.eu-meta]",
		"uidring.github.io/block=4":                "[" + heldName + "]",
		"uidring.github.io/block=meta":             "[uidring-orders-1.eu-meta]",
	} {
		names := k.names(t, selector)
		slices.Sort(names)
		if got := fmt.Sprint(names); got != want {
			t.Errorf("objects with %s: %s, want %s", selector, got, want)
		}
	}
	var files []string
	for _, name := range k.names(t, "app.kubernetes.io/managed-by=uidring") {
		text := k.do(t, http.MethodGet, "/"+name, "")
		file := filepath.Join(t.TempDir(), name+".json")
		write(t, file, string(text))
		files = append(files, file)
		var l struct {
			Spec struct {
				HolderIdentity                         string
				LeaseDurationSeconds, LeaseTransitions int64
				RenewTime                              time.Time
			}
		}
		testkit.Must(t, json.Unmarshal(text, &l))
		late := l.Spec.RenewTime.Add(time.Duration(l.Spec.LeaseDurationSeconds) * time.Second).Sub(held.Expires)
		switch {
		case name != heldName && (l.Spec.HolderIdentity != "" || !l.Spec.RenewTime.IsZero()):
			t.Errorf("%s: %+v, want no holder", name, l.Spec)
		case name == heldName && (l.Spec.HolderIdentity != held.Owner || l.Spec.LeaseTransitions != 5 || late < 0 || late > time.Second):
			t.Errorf("%s: %+v, want it to show %+v", name, l.Spec, held)
		}
	}
	check(t, files...)
}

// Names that Kubernetes does not allow, or that look like the hash of such a name, are kept apart.
func TestLabelValuesOfNamespacesAreApart(t *testing.T) {
	seen := make(map[string]string)
	long := strings.Repeat("x", 63)
	for _, name := range []string{"orders", "Orders", k8sassigner.LabelValue("Orders"), "orders-", "-", "0.-_", "a..b", "a.-b", "meta", "x--1", long, long + "x"} {
		value := k8sassigner.LabelValue(name)
		if other, ok := seen[value]; ok || !regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]{0,61}[a-z0-9])?$`).MatchString(value) {
			t.Errorf("namespace %q has the label %q, also of %q", name, value, other)
		}
		seen[value] = name
	}
}

// check compares objects with the types of the Kubernetes API. An argument is a file, a folder of
// kustomize, or -restricted: then the pods have to conform to that profile.
func check(t *testing.T, files ...string) {
	t.Helper()
	program := testserver.KubernetesProgram(t)
	out, err := exec.CommandContext(t.Context(), program, append([]string{"-check"}, files...)...).CombinedOutput()
	if lines := strings.Count(string(out), "\n"); err != nil || lines < len(files) {
		t.Errorf("%v, %d objects of %d files\n%s", err, lines, len(files), out)
	}
}

// rules returns the rights that the Role in a manifest grants.
func rules(t *testing.T, file string) string {
	t.Helper()
	_, rest, _ := strings.Cut(testkit.ReadFile(t, file), "\nrules:\n")
	granted, _, found := strings.Cut(rest, "---\n")
	if !found {
		t.Fatalf("%s has no rules", file)
	}
	return granted
}

func TestManifestsFitTheAPI(t *testing.T) {
	files, err := filepath.Glob("../../docs/kubernetes/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("manifests %q, %v; want three at least", files, err)
	}
	check(t, files...)
	const serve, serveOnLeases = "../../docs/kubernetes/serve", "../../docs/kubernetes/serve-on-leases"
	check(t, "-restricted", serve, serveOnLeases)
	if got, want := rules(t, serveOnLeases+"/rbac.yaml"), rules(t, role); got != want {
		t.Errorf("rules of the service\n%s\nwant\n%s", got, want)
	}
}

// A watch sees each request of a client before it is sent.
type watch struct {
	http.RoundTripper
	see func(*http.Request)
}

func (w watch) RoundTrip(r *http.Request) (*http.Response, error) {
	w.see(r)
	return w.RoundTripper.RoundTrip(r)
}

// An operator deletes the object between the read and the write of a swap.
func deletedRowIsNotCreatedAgain(t *testing.T, k *kubernetes) {
	writes := 0
	s := k8sassigner.LeaseStore(k.cluster(t, func(r *http.Request) {
		if r.Method == http.MethodPut {
			writes++
			k.do(t, http.MethodDelete, "/uidring-orders-1.eu-4007", "")
		}
	}), namespace, k8sassigner.Config{})
	row := stores.Create(t, s, stores.Sample(), time.Hour)
	if ok, err := s.Swap(t.Context(), row, row, time.Hour); ok || err != nil || writes != 1 {
		t.Errorf("Swap: %v, %v, %d writes; want false after one", ok, err, writes)
	}
	if got := stores.Load(t, s, row.WorkerID); got != (leasestore.Row{}) {
		t.Errorf("row %+v, want none", got)
	}
}

// A tool that copies objects to another cluster, or back into this one, creates them anew.
func restoredObjectsAreQuarantined(t *testing.T, k *kubernetes) {
	s := k.store(t, "restored")
	stores.ACopyIsQuarantined(t, s, func() leasestore.Store {
		for _, name := range append(k.names(t, "uidring.github.io/namespace=restored"), "uidring") {
			text := string(k.do(t, http.MethodGet, "/"+name, ""))
			k.do(t, http.MethodDelete, "/"+name, "")
			version, _, _ := strings.Cut(text[strings.Index(text, `"resourceVersion":"`)+len(`"resourceVersion":"`):], `"`)
			k.do(t, http.MethodPost, "", strings.Replace(text, `"resourceVersion":"`+version+`"`, `"resourceVersion":""`, 1))
		}
		return s
	})
}
