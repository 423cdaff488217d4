package storeurl

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner/k8sassigner"
)

// openKubernetes uses the service account of the pod, or with a host the program kubectl proxy on
// this computer, which adds the credentials of its user.
func openKubernetes(s *Store, u *url.URL, namespace string, _ *tls.Config) error {
	if u.User != nil {
		return errors.New("a user, allowed: none; credentials come from the service account of the pod, or from kubectl proxy")
	}
	cluster, err := clusterOf(u)
	if err != nil {
		return err
	}
	if u.Host != "" || strings.Trim(u.Path, "/") != "" {
		if cluster.Namespace, err = pathName(u, "a Kubernetes namespace"); err != nil {
			return err
		}
	}
	s.Store = k8sassigner.LeaseStore(cluster, namespace)
	s.close = func() error { cluster.Client.CloseIdleConnections(); return nil }
	return nil
}

func clusterOf(u *url.URL) (k8sassigner.Cluster, error) {
	if u.Host == "" {
		cluster, err := k8sassigner.InCluster()
		if err != nil {
			err = fmt.Errorf("%w; elsewhere run kubectl proxy, allowed: kubernetes://127.0.0.1:8001/namespace", err)
		}
		return cluster, err
	}
	if ip, err := netip.ParseAddr(u.Hostname()); u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback()) {
		return k8sassigner.Cluster{}, fmt.Errorf("host %q, allowed: none in a pod, else the address of kubectl proxy on this computer, such as 127.0.0.1:8001", u.Host)
	}
	return k8sassigner.Cluster{
		URL: "http://" + u.Host,
		Client: &http.Client{
			Timeout:       30 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}
