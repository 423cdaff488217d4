package remoteassigner

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner"
)

// LeaseStore returns the store of a namespace that servers offer, for [assigner.Leased],
// [assigner.Auto] and [assigner.Fenced].
//
// A namespace has 1 to 64 characters: letters, digits, dot, underscore and hyphen. The server
// must offer it. A claim with another layout, epoch or datacenter ID than the other holders fails
// with [assigner.ErrLayoutMismatch], as with the database itself. The store implements
// [assigner.Namespaced] and [assigner.Creator]; its methods return the mistakes in the arguments
// of LeaseStore.
//
// An error of the server's store keeps its text; of its sentinels only
// [assigner.ErrWorkerOverlap] is kept. Errors without an answer of the store are
// [ErrUnreachable]. Any number of goroutines may use the store at once.
func LeaseStore(cfg Config, namespace string) assigner.Store {
	client := cfg.Client
	if client == nil {
		client = newClient()
	}
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &store{cfg: cfg, client: &own, namespace: namespace, err: cfg.check(namespace)}
}

type store struct {
	cfg       Config
	client    *http.Client
	namespace string
	err       error         // of the arguments
	turn      atomic.Uint64 // modulo the number of URLs: the server of the next call
}

// String names the store in log records.
func (s *store) String() string {
	hosts := make([]string, len(s.cfg.URLs))
	for i, text := range s.cfg.URLs {
		u, _ := url.Parse(text)
		hosts[i] = redact(u)
	}
	return "leases of namespace " + s.namespace + " at " + strings.Join(hosts, ", ")
}

// Namespace implements [assigner.Namespaced].
func (s *store) Namespace() string { return s.namespace }

// Status implements [assigner.Store]. It returns the status of the server's store.
func (s *store) Status(ctx context.Context) (assigner.Status, error) {
	return call[assigner.Status](ctx, s, methodStatus, question{})
}

// LoadMeta implements [assigner.Store].
func (s *store) LoadMeta(ctx context.Context) (assigner.Meta, error) {
	return call[assigner.Meta](ctx, s, methodLoadMeta, question{})
}

// SwapMeta implements [assigner.Store].
func (s *store) SwapMeta(ctx context.Context, old, next assigner.Meta) (bool, error) {
	if err := checkMeta(next); err != nil {
		return false, err
	}
	return swapped(call[bool](ctx, s, methodSwapMeta, question{OldMeta: &old, NextMeta: &next}))
}

// Load implements [assigner.Store].
func (s *store) Load(ctx context.Context, workerID int64) (assigner.Row, error) {
	return call[assigner.Row](ctx, s, methodLoad, question{WorkerID: workerID})
}

// List implements [assigner.Store].
func (s *store) List(ctx context.Context) ([]assigner.Row, error) {
	return call[[]assigner.Row](ctx, s, methodList, question{})
}

// Expired implements [assigner.Store].
func (s *store) Expired(ctx context.Context, n int) ([]assigner.Row, error) {
	return call[[]assigner.Row](ctx, s, methodExpired, question{N: n})
}

// Swap implements [assigner.Store].
func (s *store) Swap(ctx context.Context, old, next assigner.Row, ttl time.Duration) (bool, error) {
	if err := checkRow(next); err != nil {
		return false, err
	}
	return swapped(call[bool](ctx, s, methodSwap, question{Old: &old, Next: &next, TTL: ttl}))
}

// swapped drops the result beside an error: a swap with an error is unknown.
func swapped(ok bool, err error) (bool, error) { return ok && err == nil, err }

// CreateFree implements [assigner.Creator]. If the server's store does not, the server creates
// the rows one by one.
func (s *store) CreateFree(ctx context.Context, rows []assigner.Row, ttl time.Duration) error {
	for _, row := range rows {
		if err := checkRow(row); err != nil {
			return err
		}
	}
	_, err := call[bool](ctx, s, methodCreateFree, question{Rows: rows, TTL: ttl})
	return err
}

// Namespaces implements [assigner.Namespaced]. If the server's store has one namespace only, it
// returns this one.
func (s *store) Namespaces(ctx context.Context) (map[string]assigner.Meta, error) {
	return call[map[string]assigner.Meta](ctx, s, methodNamespaces, question{})
}
