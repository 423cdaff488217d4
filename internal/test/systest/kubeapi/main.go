//go:build kubeapi

// Command kubeapi is a Kubernetes API server for tests of package k8sassigner: the server of custom
// resources, k8s.io/apiextensions-apiserver, over an etcd that the test starts, with a custom
// resource in place of Lease objects. It checks tokens, and the Role in a manifest, as a cluster
// does. With -check it checks manifests against the types of the API instead.
//
// It is a program of its own, so that tests can kill it. Without the build tag, linters and the
// race detector skip it, which would take them many minutes.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "kubeapi:", err)
		os.Exit(1)
	}
}
