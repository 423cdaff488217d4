//go:build kubeapi

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	apps "k8s.io/api/apps/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	"k8s.io/pod-security-admission/api"
	security "k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// kinds makes an empty object of each kind that manifests may have.
var kinds = map[string]func() any{
	"v1 Service":                               func() any { return new(core.Service) },
	"v1 ServiceAccount":                        func() any { return new(core.ServiceAccount) },
	"apps/v1 Deployment":                       func() any { return new(apps.Deployment) },
	"apps/v1 StatefulSet":                      func() any { return new(apps.StatefulSet) },
	"policy/v1 PodDisruptionBudget":            func() any { return new(policy.PodDisruptionBudget) },
	"coordination.k8s.io/v1 Lease":             func() any { return new(coordination.Lease) },
	"rbac.authorization.k8s.io/v1 Role":        func() any { return new(rbac.Role) },
	"rbac.authorization.k8s.io/v1 RoleBinding": func() any { return new(rbac.RoleBinding) },
}

// manifest returns the text of a file, or of all that kustomize makes of a folder.
func manifest(name string) ([]byte, error) {
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return os.ReadFile(name)
	}
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), name)
	if err != nil {
		return nil, err
	}
	return objects.AsYaml()
}

// readManifest returns the objects of a file or folder. It rejects fields that the types of the API
// do not have, and values that do not fit.
func readManifest(file string) (objects []any, err error) {
	text, err := manifest(file)
	if err != nil {
		return nil, err
	}
	for i, part := range bytes.Split(text, []byte("\n---\n")) {
		var head struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal(part, &head); err != nil {
			return nil, fmt.Errorf("%s, object %d: %w", file, i, err)
		}
		empty, ok := kinds[head.APIVersion+" "+head.Kind]
		if !ok {
			return nil, fmt.Errorf("%s, object %d: unknown kind %q of %q", file, i, head.Kind, head.APIVersion)
		}
		object := empty()
		if err := yaml.UnmarshalStrict(part, object); err != nil {
			return nil, fmt.Errorf("%s, %s: %w", file, head.Kind, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

func checkManifests(files []string, secured bool) error {
	if len(files) == 0 {
		return errors.New("-check: no manifests")
	}
	var errs []error
	for _, file := range files {
		objects, err := readManifest(file)
		errs = append(errs, err)
		for _, object := range objects {
			fmt.Printf("%s: %T\n", file, object)
			if deployment, ok := object.(*apps.Deployment); ok && secured {
				errs = append(errs, restricted(deployment.Spec.Template))
			}
		}
	}
	return errors.Join(errs...)
}

// restricted wants the pods that the profile restricted of Kubernetes admits.
func restricted(pod core.PodTemplateSpec) error {
	evaluator, err := security.NewEvaluator(security.DefaultChecks(), nil)
	if err != nil {
		return err
	}
	profile := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	result := security.AggregateCheckResults(evaluator.EvaluatePod(profile, &pod.ObjectMeta, &pod.Spec))
	if !result.Allowed {
		return fmt.Errorf("profile restricted: %s", result.ForbiddenDetail())
	}
	return nil
}
