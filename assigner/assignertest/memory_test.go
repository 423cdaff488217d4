package assignertest_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/kvassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/memkv"
)

// A server keeps leases in memory. It has at most one fault.
type server struct {
	memkv.Server
	fault string
	names sync.Map // of namespaces, with the fault "checks no names" by the name in the store

	looks, swaps, meets atomic.Int64
}

// A memory is a handle on a namespace of a server.
type memory struct {
	leasestore.Store
	*server
	name string
}

func (s *server) open(name string) leasestore.Store {
	kv := &memkv.KV{Server: &s.Server, Now: time.Now}
	m := memory{server: s, name: name}
	switch s.fault {
	case "ignores context":
		kv.Before = func(context.Context, string, string) error { return nil }
	case "checks no names":
		name = fmt.Sprintf("%x", sha256.Sum256([]byte(name)))
		s.names.Store(name, m.name)
	}
	m.Store = kvassigner.LeaseStore(kv, name, kvassigner.Config{})
	return m
}

// storeFixture opens an empty server.
func storeFixture(fault string) assignertest.StoreFixture {
	s, handles := &server{fault: fault}, 0
	return assignertest.StoreFixture{
		Handle: func() leasestore.Store {
			if handles++; fault == "not shared" {
				return s.open(fmt.Sprint("mine-", handles))
			}
			return s.open("mine")
		},
		Other: func(name string) leasestore.Store {
			if fault == "one namespace" {
				name = "mine"
			}
			return s.open(name)
		},
		Down: func(*testing.T) (up func()) {
			if fault == "never down" {
				return func() {}
			}
			return s.Down()
		},
	}
}

// meet has each first of two callers wait for the second, and then lets it go ahead. The cases for
// callers at once swap the rows 1 and 11; the others need not wait.
func (s *server) meet(row leasestore.Row) {
	n := s.meets.Add(1)
	if row.WorkerID != 1 && row.WorkerID != 11 || n%2 == 0 {
		return
	}
	for wait := 1000; s.meets.Load() == n && wait > 0; wait-- {
		<-time.After(time.Millisecond)
	}
	<-time.After(5 * time.Millisecond)
}

func (m memory) Status(ctx context.Context) (leasestore.Status, error) {
	s, err := m.Store.Status(ctx)
	if err != nil {
		return s, err
	}
	s.Namespace, s.Lossy = m.name, m.fault == "none, but lossy"
	switch {
	case m.fault == "clock off":
		s.Now = s.Now.Add(-time.Hour)
	case m.fault == "seen once" && m.looks.Add(1) == 1:
		s.Seen = s.Now
	}
	return s, nil
}

func (m memory) SwapMeta(ctx context.Context, old, next leasestore.Meta) (bool, error) {
	if m.fault == "loses fields" {
		next.Extra = ""
	}
	return m.Store.SwapMeta(ctx, old, next)
}

func (m memory) Swap(ctx context.Context, old, next leasestore.Row, ttl time.Duration) (bool, error) {
	swaps := m.swaps.Load()
	found, err := m.Load(ctx, next.WorkerID)
	if err != nil {
		return false, err
	}
	switch same := found.Same(old); m.fault {
	case "swap creates":
		if found == (leasestore.Row{}) {
			old = found
		}
	case "checks, then acts":
		m.meet(next)
		for same {
			if ok, err := m.Store.Swap(ctx, found, next, ttl); ok || err != nil {
				return ok, err
			}
			if found, err = m.Load(ctx, next.WorkerID); err != nil {
				return false, err
			}
		}
	case "refuses conflicts":
		m.meet(next)
		if m.swaps.Load() != swaps {
			return false, nil
		}
	case "compares floats":
		if float64(found.Version) == float64(old.Version) && float64(found.Fence) == float64(old.Fence) && found.Token == old.Token {
			old = found
		}
	case "wrong expiry":
		ttl = 24 * time.Hour
	case "loses fields":
		next.Extra = ""
	}
	m.swaps.Add(1)
	return m.Store.Swap(ctx, old, next, ttl)
}

func (m memory) Namespaces(ctx context.Context) (map[string]leasestore.Meta, error) {
	all, err := m.Store.Namespaces(ctx)
	if m.fault != "checks no names" {
		return all, err
	}
	named := make(map[string]leasestore.Meta)
	for name, meta := range all {
		given, _ := m.names.Load(name)
		named[given.(string)] = meta
	}
	return named, err
}
