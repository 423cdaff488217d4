//go:build kubeapi

package main

import (
	"context"
	_ "embed"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"sigs.k8s.io/yaml"
)

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
