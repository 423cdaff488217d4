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
	"context"
	_ "embed"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	serveroptions "k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"sigs.k8s.io/yaml"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "kubeapi:", err)
		os.Exit(1)
	}
}

func run() error {
	var s settings
	flag.StringVar(&s.etcd, "etcd", "", "URL of etcd")
	flag.StringVar(&s.listen, "listen", "", "host and port of the API server")
	flag.StringVar(&s.folder, "folder", "", "folder of the file tokens, and of the certificate")
	flag.StringVar(&s.role, "role", "", "manifest with the Role of user ids")
	check := flag.Bool("check", false, "check the manifests and folders of kustomize that are the arguments, and serve nothing")
	secured := flag.Bool("restricted", false, "with -check, want pods that the profile restricted admits")
	flag.Parse()
	if *check {
		return checkManifests(flag.Args(), *secured)
	}
	return serve(s)
}

type settings struct{ etcd, listen, folder, role string }

// noCluster is a kubeconfig that leads nowhere. The server asks for one, and does not use it.
const noCluster = `{"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "none", "cluster": {"server": "http://127.0.0.1:1"}}],
"contexts": [{"name": "none", "context": {"cluster": "none"}}], "current-context": "none"}`

// serve runs the API server until a signal ends the process.
func serve(s settings) error {
	kubeconfig := filepath.Join(s.folder, "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(noCluster), 0o600); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return err
	}
	o := serveroptions.NewCustomResourceDefinitionsServerOptions(os.Stdout, os.Stderr)
	flags := pflag.NewFlagSet("kubeapi", pflag.ContinueOnError)
	o.AddFlags(flags)
	err = flags.Parse([]string{"--etcd-servers=" + s.etcd, "--cert-dir=" + filepath.Join(s.folder, "certificate"),
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--authentication-skip-lookup", "--enable-priority-and-fairness=false",
		"--disable-admission-plugins=NamespaceLifecycle,MutatingAdmissionWebhook,ValidatingAdmissionWebhook,ValidatingAdmissionPolicy,MutatingAdmissionPolicy"})
	if err != nil {
		return err
	}
	o.RecommendedOptions.SecureServing.Listener = listener
	o.RecommendedOptions.SecureServing.BindPort = listener.Addr().(*net.TCPAddr).Port
	if err := o.Complete(); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return err
	}
	config, err := o.Config()
	if err != nil {
		return err
	}
	config.GenericConfig.Authentication.Authenticator = tokens(filepath.Join(s.folder, "tokens"))
	if config.GenericConfig.Authorization.Authorizer, err = role(s.role); err != nil {
		return err
	}
	server, err := config.Complete().New(genericapiserver.NewEmptyDelegate())
	if err != nil {
		return err
	}
	if err := server.GenericAPIServer.AddPostStartHook("leases", defineLeases); err != nil {
		return err
	}
	return server.GenericAPIServer.PrepareRun().RunWithContext(genericapiserver.SetupSignalContext())
}

//go:embed leases.yaml
var definition []byte

// defineLeases creates the custom resource. The server serves it soon after.
func defineLeases(ctx genericapiserver.PostStartHookContext) error {
	client, err := clientset.NewForConfig(ctx.LoopbackClientConfig)
	if err != nil {
		return err
	}
	leases := new(apiextensions.CustomResourceDefinition)
	if err := yaml.UnmarshalStrict(definition, leases); err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx.Context, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, err := client.ApiextensionsV1().CustomResourceDefinitions().Create(ctx, leases, meta.CreateOptions{})
		return err == nil || errors.IsAlreadyExists(err), nil // etcd may be down
	})
}
