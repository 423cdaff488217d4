//go:build kubeapi

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/pod-security-admission/api"
	security "k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// decoder rejects fields that the types of the API do not have.
var decoder = serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()

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
func readManifest(file string) (objects []runtime.Object, err error) {
	text, err := manifest(file)
	if err != nil {
		return nil, err
	}
	for i, part := range bytes.Split(text, []byte("\n---\n")) {
		object, _, err := decoder.Decode(part, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("%s, object %d: %w", file, i, err)
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
			switch o := object.(type) {
			case *apps.Deployment:
				if secured {
					errs = append(errs, restricted(o.Spec.Template))
				}
				for _, spread := range o.Spec.Template.Spec.TopologySpreadConstraints {
					errs = append(errs, selects(spread.LabelSelector, o.Spec.Template.Labels))
				}
			case *policy.PodDisruptionBudget:
				errs = append(errs, selects(o.Spec.Selector, map[string]string{"app.kubernetes.io/name": "uidring"}))
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

// selects wants a selector that selects pods with these labels: a missing one selects none.
func selects(selector *meta.LabelSelector, pod labels.Set) error {
	s, err := meta.LabelSelectorAsSelector(selector)
	if err == nil && !s.Matches(pod) {
		err = fmt.Errorf("selector %v: it does not select pods with %v", s, pod)
	}
	return err
}
