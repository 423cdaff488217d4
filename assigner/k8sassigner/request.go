package k8sassigner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/uidring/uidring/internal/httpcall"
)

// mostBytes bounds an answer. A row takes about a kilobyte.
const mostBytes = 256 << 20

// A refusal is an answer of the API server that is not a success.
type refusal struct {
	code   int
	status struct {
		Kind, Message, Reason string
		Details               struct {
			Name, Kind string
			Causes     []struct{ Reason string }
		}
	}
}

func (r *refusal) Error() string {
	text := fmt.Sprintf("%d %s", r.code, http.StatusText(r.code))
	if r.status.Message != "" {
		text += ": " + r.status.Message
	}
	if advice := r.advice(); advice != "" {
		text += "; " + advice
	}
	return text
}

// advice returns the remedy for a refusal, or "". The API server words a refusal in a message; of
// these cases only the end of a namespace has a code of its own.
func (r *refusal) advice() string {
	says := func(part string) bool { return strings.Contains(r.status.Message, part) }
	for _, c := range r.status.Details.Causes {
		if c.Reason == "NamespaceTerminating" {
			return "the Kubernetes namespace is being deleted, and the fences with it: use a namespace that stays, and run Recover there"
		}
	}
	switch {
	case r.code == http.StatusUnauthorized:
		return "the API server does not accept the token: it has expired, is not one of this cluster, or its service account was deleted"
	case r.code != http.StatusForbidden:
		return ""
	case says(`User "system:anonymous"`):
		return "the request had no token: use the Client of InCluster, or one that adds credentials"
	case says("exceeded quota"):
		return "raise the ResourceQuota of the Kubernetes namespace: each worker ID takes a Lease object"
	case says(" cannot "):
		return "grant the service account get, list, create and update on leases of coordination.k8s.io"
	}
	return ""
}

// Passes reports refusals of an API server that has no time, or whose etcd does not answer.
func (c *store) Passes(err error) bool {
	r, ok := errors.AsType[*refusal](err)
	return ok && (r.code == http.StatusTooManyRequests || r.code >= http.StatusInternalServerError)
}

// is reports whether err is an answer of the API server with this reason.
func is(err error, reason string) bool {
	r, ok := errors.AsType[*refusal](err)
	return ok && r.status.Kind == "Status" && r.status.Reason == reason
}

// absent reports whether err is the answer that the Lease object does not exist. Other things may
// be missing as well: the Kubernetes namespace, the API group, the API server.
func absent(err error) bool {
	r, ok := errors.AsType[*refusal](err)
	return ok && is(err, "NotFound") && r.status.Details.Name != "" && r.status.Details.Kind == "leases"
}

// call sends a request for a Lease object, or for the collection if name is "", and decodes the
// answer into result. It returns the server's time. Reads name no resourceVersion, since the API
// server may otherwise answer from its cache.
func (c *store) call(ctx context.Context, method, name string, query url.Values, object, result any) (now time.Time, err error) {
	address, about := strings.TrimSuffix(c.URL, "/")+"/apis/coordination.k8s.io/v1/namespaces/"+c.Namespace+"/leases", "Lease objects"
	if name != "" {
		address, about = address+"/"+name, "Lease "+name
	}
	answer, text, err := httpcall.Send(ctx, c.Client, method, address+"?"+query.Encode(), "", object, mostBytes)
	if err == nil {
		now, err = read(answer, text, result)
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("%s %s: %w", method, about, err)
	}
	return now, nil
}

func read(answer *http.Response, text []byte, result any) (now time.Time, err error) {
	if answer.StatusCode >= 300 {
		r := &refusal{code: answer.StatusCode}
		_ = json.Unmarshal(text, &r.status) // a proxy answers in its own words
		return now, r
	}
	if now, err = http.ParseTime(answer.Header.Get("Date")); err != nil {
		return now, fmt.Errorf("the answer has no valid Date: %w", err)
	}
	return now, json.Unmarshal(text, result)
}
