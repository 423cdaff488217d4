package assignertest_test

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner"
)

// The memories of a server, by name, with at most one fault.
type memories struct {
	fault string
	lossy bool

	mu     sync.Mutex
	byName map[string]*memory
	names  []string // of the memories that have a meta row
}

func (h *memories) open(name string) *memory {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := name
	if h.fault == "names to 4" {
		key = name[:min(len(name), 4)]
	}
	if m, ok := h.byName[key]; ok {
		return m
	}
	m := &memory{fault: h.fault, lossy: h.lossy, born: time.Now(), name: name, all: h, rows: make(map[int64]assigner.Row)}
	h.byName[key] = m
	return m
}

// claim lets a memory have a meta row, unless a memory whose name looks alike has one.
func (h *memories) claim(name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fault == "takes no twin at all" && strings.Contains(strings.ToLower(name), "twins") {
		return assigner.ErrWorkerOverlap
	}
	for _, other := range h.names {
		if err := assigner.CheckNamespaceTwin(name, other); err != nil && h.fault != "takes twins" && h.fault != "lists itself alone" {
			return err
		}
	}
	h.names = append(h.names, name)
	return nil
}

func (m *memory) Namespace() string { return m.name }

func (m *memory) Namespaces(ctx context.Context) (map[string]assigner.Meta, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	m.mu.Unlock()
	m.all.mu.Lock()
	memories := maps.Clone(m.all.byName) // a memory that is locked may call claim
	m.all.mu.Unlock()
	found := make(map[string]assigner.Meta)
	for name, other := range memories {
		if other != m && m.fault == "lists itself alone" {
			continue
		}
		other.mu.Lock()
		if other.meta.Version > 0 || m.fault == "row makes a namespace" && len(other.rows) > 0 {
			found[name] = other.meta
		}
		other.mu.Unlock()
	}
	return found, nil
}

// A replica is a node of a cluster that reads its own copy first, and updates it afterwards.
type replica struct {
	*memory
	seen map[int64]assigner.Row
}

func (r *replica) Load(ctx context.Context, workerID int64) (assigner.Row, error) {
	row, err := r.memory.Load(ctx, workerID)
	before, ok := r.seen[workerID]
	r.seen[workerID] = row
	if ok {
		row = before
	}
	return row, err
}

// A creator is a memory that creates rows in bulk.
type creator struct{ *memory }

func (c creator) CreateFree(ctx context.Context, rows []assigner.Row, ttl time.Duration) error {
	if err := c.enter(ctx); err != nil {
		return err
	}
	defer c.mu.Unlock()
	for _, row := range rows {
		if _, ok := c.rows[row.WorkerID]; ok && c.fault != "free rows overwrite" {
			continue
		}
		if c.fault == "free rows are held" {
			ttl = time.Hour
		}
		c.write(row, ttl)
	}
	return nil
}
