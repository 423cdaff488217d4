//go:build kubeapi

package main

import (
	"context"
	"fmt"
	"slices"

	rbac "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// tokens accepts the tokens in a file of Kubernetes, which it reads for each request. A user in the
// group system:masters may do everything.
func tokens(file string) authenticator.Request {
	return bearertoken.New(authenticator.TokenFunc(func(ctx context.Context, token string) (*authenticator.Response, bool, error) {
		known, err := tokenfile.NewCSV(file)
		if err != nil {
			return nil, false, err
		}
		return known.AuthenticateToken(ctx, token)
	}))
}

// role grants the user ids the rights of the Role in a manifest, in the namespace ids.
func role(file string) (authorizer.Authorizer, error) {
	objects, err := readManifest(file)
	if err != nil {
		return nil, err
	}
	var rules []rbac.PolicyRule
	for _, object := range objects {
		if r, ok := object.(*rbac.Role); ok {
			rules = append(rules, r.Rules...)
		}
	}
	if len(rules) == 0 {
		return nil, fmt.Errorf("%s has no Role with rules", file)
	}
	return authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		if slices.Contains(a.GetUser().GetGroups(), user.SystemPrivilegedGroup) {
			return authorizer.DecisionAllow, "", nil
		}
		for _, r := range rules {
			if a.GetUser().GetName() == "ids" && a.GetNamespace() == "ids" && a.IsResourceRequest() && slices.Contains(r.Verbs, a.GetVerb()) &&
				slices.Contains(r.APIGroups, a.GetAPIGroup()) && slices.Contains(r.Resources, a.GetResource()) &&
				(len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, a.GetName())) {
				return authorizer.DecisionAllow, "", nil
			}
		}
		return authorizer.DecisionNoOpinion, "the Role does not allow it", nil
	}), nil
}
