package k8sassigner

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/uidring/uidring/assigner/kvassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/httpcall"
)

// Config configures a [LeaseStore]. It has no options yet: use its zero value.
type Config struct{}

// LeaseStore returns the store of a namespace of worker IDs, see [kvassigner.LeaseStore]. Services
// that share a namespace use the same Kubernetes namespace.
//
// The store returns an error when a write may have taken effect, and does not retry it. Without a
// deadline a call may wait for the API server as long as the client does.
func LeaseStore(cluster Cluster, namespace string, _ Config) leasestore.Store {
	return kvassigner.LeaseStore(&store{cluster}, namespace, kvassigner.Config{})
}

// A store keeps a key of package kvassigner in a Lease object.
type store struct{ Cluster }

// String names the store in errors and log records.
func (c *store) String() string {
	return "Kubernetes at " + httpcall.Redact(c.URL) + ", namespace " + c.Namespace
}

func (c *store) Get(ctx context.Context, key string) (value []byte, revision string, err error) {
	var l lease
	_, err = c.call(ctx, http.MethodGet, c.metadata(key).Name, nil, nil, &l)
	if absent(err) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	return []byte(l.Metadata.Annotations[annotationRecord]), l.Metadata.revision(), nil
}

func (c *store) Put(ctx context.Context, key string, value []byte, revision string) (bool, error) {
	l := c.newLease(key, value, revision, time.Now())
	method, name := http.MethodPut, l.Metadata.Name
	if revision == "" {
		method, name = http.MethodPost, ""
	}
	_, err := c.call(ctx, method, name, nil, l, new(lease))
	if absent(err) || is(err, "Conflict") || is(err, "AlreadyExists") {
		return false, nil
	}
	return err == nil, err
}

func (c *store) List(ctx context.Context, prefix string) (entries []kvassigner.Entry, err error) {
	var all struct{ Items []lease }
	if _, err := c.call(ctx, http.MethodGet, "", url.Values{"labelSelector": {selector(prefix)}}, nil, &all); err != nil {
		return nil, err
	}
	for _, l := range all.Items {
		entries = append(entries, kvassigner.Entry{Key: l.Metadata.Name, Value: []byte(l.Metadata.Annotations[annotationRecord])})
	}
	return entries, nil
}

// Status returns the time of the API server, and the UID of an object that Status creates once. It
// reads the object from etcd, through the same server.
func (c *store) Status(ctx context.Context) (leasestore.Status, error) {
	var l lease
	now, err := c.call(ctx, http.MethodGet, anchor, nil, nil, &l)
	if absent(err) {
		l = lease{APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Metadata: metadata{
			Name: anchor, Namespace: c.Namespace, Labels: map[string]string{labelManager: "uidring"}}}
		if now, err = c.call(ctx, http.MethodPost, "", nil, l, &l); is(err, "AlreadyExists") {
			now, err = c.call(ctx, http.MethodGet, anchor, nil, nil, &l)
		}
	}
	if err != nil {
		return leasestore.Status{}, err
	}
	if l.Metadata.UID == "" {
		return leasestore.Status{}, fmt.Errorf("no UID in the Lease %s: this is not an API server", anchor)
	}
	return leasestore.Status{Now: now, Identity: "Lease " + anchor + " with UID " + l.Metadata.UID}, nil
}
