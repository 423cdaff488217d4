package remoteassigner

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/httpcall"
)

// LeaseStore returns the store of a namespace that servers offer, for [assigner.Leased],
// [assigner.Auto] and [assigner.Fenced].
//
// The urls are the addresses of the servers, such as https://ids.example.com:8443; a path before
// /v1/leases is allowed. All servers share one store: servers with separate stores give out the
// same worker IDs. A call uses one server; after an error the next call uses the next one. A start
// goes on until each server in a row has refused a call, such as for a wrong token.
//
// A namespace has 1 to 64 characters: letters, digits, dot, underscore and hyphen. The server must
// offer it. A claim with another layout, epoch or datacenter ID than the other holders fails with
// [assigner.ErrLayoutMismatch], as with the database itself. The methods of the store return the
// mistakes in the arguments of LeaseStore.
//
// An error of the server's store keeps its text, and whether a start waits for its end; of its
// sentinels only [leasestore.ErrOverlap] is kept. Errors without an answer of the store are
// [ErrUnreachable]. Any number of goroutines may use the store at once.
func LeaseStore(urls []string, namespace string, cfg Config) leasestore.Store {
	client := cfg.Client
	if client == nil {
		client = &http.Client{Timeout: 30 * time.Second, Transport: httpcall.NewTransport(nil)}
	}
	return &store{urls: slices.Clone(urls), token: cfg.Token, client: client, namespace: namespace, err: check(urls, namespace, cfg.Token)}
}

type store struct {
	urls      []string
	token     string
	client    *http.Client
	namespace string
	err       error         // of the arguments
	turn      atomic.Uint64 // modulo the number of URLs: the server of the next call
	refusing  atomic.Uint64 // the turn from which on every server has refused its call
}

// Status returns the status of the server's store, with the addresses of the servers before its
// name.
func (s *store) Status(ctx context.Context) (leasestore.Status, error) {
	status, err := call[leasestore.Status](ctx, s, "status", question{})
	if err != nil {
		return status, err
	}
	hosts := make([]string, len(s.urls))
	for i, text := range s.urls {
		hosts[i] = httpcall.Redact(text)
	}
	status.Store = strings.TrimSuffix(strings.Join(hosts, ", ")+": "+status.Store, ": ")
	return status, nil
}

func (s *store) LoadMeta(ctx context.Context) (leasestore.Meta, error) {
	return call[leasestore.Meta](ctx, s, "load-meta", question{})
}

func (s *store) SwapMeta(ctx context.Context, old, next leasestore.Meta) (bool, error) {
	if err := next.CheckTexts(); err != nil {
		return false, err
	}
	return swapped(call[bool](ctx, s, "swap-meta", question{OldMeta: &old, NextMeta: &next}))
}

func (s *store) Load(ctx context.Context, workerID int64) (leasestore.Row, error) {
	return call[leasestore.Row](ctx, s, "load", question{WorkerID: workerID})
}

func (s *store) List(ctx context.Context) ([]leasestore.Row, error) {
	return call[[]leasestore.Row](ctx, s, "list", question{})
}

func (s *store) Expired(ctx context.Context, n int) ([]leasestore.Row, error) {
	return call[[]leasestore.Row](ctx, s, "expired", question{N: min(n, mostBytes/500)})
}

func (s *store) Swap(ctx context.Context, old, next leasestore.Row, ttl time.Duration) (bool, error) {
	if err := next.CheckTexts(); err != nil {
		return false, err
	}
	return swapped(call[bool](ctx, s, "swap", question{Old: &old, Next: &next, TTL: ttl}))
}

// swapped drops the result beside an error: a swap with an error is unknown.
func swapped(ok bool, err error) (bool, error) { return ok && err == nil, err }

func (s *store) CreateFree(ctx context.Context, rows []leasestore.Row, ttl time.Duration) (bool, error) {
	for _, row := range rows {
		if err := row.CheckTexts(); err != nil {
			return false, err
		}
	}
	return swapped(call[bool](ctx, s, "create-free", question{Rows: rows, TTL: ttl}))
}

func (s *store) Namespaces(ctx context.Context) (map[string]leasestore.Meta, error) {
	return call[map[string]leasestore.Meta](ctx, s, "namespaces", question{})
}
