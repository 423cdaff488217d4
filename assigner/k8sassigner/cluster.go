package k8sassigner

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/uidring/uidring/internal/httpcall"
)

// A Cluster is a Kubernetes namespace that holds Lease objects, and the way to its API server. Its
// fields are not changed once a store uses it.
type Cluster struct {
	// Client sends the requests, and adds the credentials. Required. Inside a pod, [InCluster]
	// returns a Cluster with its own. Elsewhere rest.HTTPClientFor of client-go makes one from a
	// kubeconfig.
	Client *http.Client
	// URL is the address of the API server, such as https://10.96.0.1:443. Required.
	URL string
	// Namespace is the Kubernetes namespace of the Lease objects. It must exist. Required.
	Namespace string
}

// serviceAccount is the folder in which Kubernetes keeps the credentials of a pod.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// InCluster returns the cluster in which this process is a pod, and the pod's own namespace. It
// uses the service account of the pod. The client reads the token for each request and the
// certificate authority for each connection, because Kubernetes replaces both. It returns an error
// outside a pod, and in a pod with automountServiceAccountToken: false.
func InCluster() (Cluster, error) { return inCluster(os.Getenv, serviceAccount) }

func inCluster(getenv func(string) string, folder string) (Cluster, error) {
	host, port := getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT")
	namespace, err := os.ReadFile(filepath.Join(folder, "namespace"))
	if err != nil {
		err = fmt.Errorf("k8sassigner: the pod has no service account (automountServiceAccountToken): %w", err)
	}
	if host == "" || port == "" {
		err = errors.Join(err, errors.New("k8sassigner: KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is not set: this process is not in a pod"))
	}
	if err != nil {
		return Cluster{}, err
	}
	address := net.JoinHostPort(host, port)
	return Cluster{
		URL:       "https://" + address,
		Namespace: strings.TrimSpace(string(namespace)),
		Client: &http.Client{
			Timeout:   30 * time.Second,
			Transport: &serviceAccountTransport{folder: folder, server: address, base: &http.Transport{DialTLSContext: dialer(folder)}},
		},
	}, nil
}

// dialer returns a function that opens a connection and reads the certificate authority for it. The
// connections are HTTP/1.1: the end of a request's context closes its connection, so that no later
// request waits on a dead one.
func dialer(folder string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		file := filepath.Join(folder, "ca.crt")
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		authorities := x509.NewCertPool()
		if !authorities.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s has no certificate in PEM", file)
		}
		d := tls.Dialer{Config: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}}
		return d.DialContext(ctx, network, address)
	}
}

// A serviceAccountTransport adds the token of a pod's service account to requests to its server.
type serviceAccountTransport struct {
	folder, server string
	base           http.RoundTripper
}

func (t *serviceAccountTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != t.server {
		return nil, fmt.Errorf("the token is for %s only, not for %s", t.server, r.URL.Host)
	}
	token, err := os.ReadFile(filepath.Join(t.folder, "token"))
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	return t.base.RoundTrip(r)
}

// label is the form of a Kubernetes namespace.
var label = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

func (c *store) Check(string) error {
	var errs []error
	if c.Client == nil {
		errs = append(errs, errors.New("k8sassigner: Client is required; see InCluster"))
	}
	if err := httpcall.CheckURL(c.URL); err != nil {
		errs = append(errs, fmt.Errorf("k8sassigner: %w", err))
	}
	if !label.MatchString(c.Namespace) {
		errs = append(errs, fmt.Errorf("k8sassigner: Namespace %q, allowed: the name of a Kubernetes namespace, 1 to 63 of the characters a-z 0-9 -", c.Namespace))
	}
	return errors.Join(errs...)
}
