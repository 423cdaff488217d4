package kvassigner_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/kvassigner"
)

var errDown = errors.New("the store is down")

// A memory is a KV in memory, shared by several handles.
type memory struct {
	now    func() time.Time // nil: it has no clock
	twice  bool             // its client sends each write twice, and returns the second answer
	before func(key string) // called before each write, without the lock

	mu    sync.Mutex
	down  bool
	last  int // the revision of the last write
	keys  map[string]versioned
	looks int      // calls of Status
	lists []string // the prefixes of all calls of List
}

type versioned struct {
	revision string
	value    []byte
}

func (m *memory) String() string { return "memory at ram:1" }

func newMemory() *memory { return &memory{now: time.Now, keys: make(map[string]versioned)} }

// enter locks the memory. It ignores the context, which the adapter checks after an error only.
func (m *memory) enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return errors.New("request failed")
	}
	m.mu.Lock()
	if m.down {
		m.mu.Unlock()
		return errDown
	}
	return nil
}

func (m *memory) Get(ctx context.Context, key string) (value []byte, revision string, err error) {
	if err := m.enter(ctx); err != nil {
		return nil, "", err
	}
	defer m.mu.Unlock()
	return m.keys[key].value, m.keys[key].revision, nil
}

func (m *memory) Put(ctx context.Context, key string, value []byte, revision string) (ok bool, err error) {
	if m.before != nil {
		m.before(key)
	}
	if err := m.enter(ctx); err != nil {
		return false, err
	}
	defer m.mu.Unlock()
	ok = m.keys[key].revision == revision
	if ok {
		m.last++
		m.keys[key] = versioned{strconv.Itoa(m.last), slices.Clone(value)}
	}
	return ok && !m.twice, nil
}

func (m *memory) List(ctx context.Context, prefix string) (entries []kvassigner.Entry, err error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	m.lists = append(m.lists, prefix)
	for key, v := range m.keys {
		if strings.HasPrefix(key, prefix) {
			entries = append(entries, kvassigner.Entry{Key: key, Value: v.value})
		}
	}
	return entries, nil
}

func (m *memory) Status(ctx context.Context) (assigner.Status, error) {
	if err := m.enter(ctx); err != nil {
		return assigner.Status{}, err
	}
	defer m.mu.Unlock()
	m.looks++
	status := assigner.Status{Identity: "memory"}
	if m.now != nil {
		status.Now = m.now()
	}
	return status, nil
}

// takeDown makes all calls fail until up is called.
func (m *memory) takeDown(*testing.T) (up func()) {
	set := func(down bool) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.down = down
	}
	set(true)
	return func() { set(false) }
}

func (m *memory) removeFolder(prefix string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.keys, func(key string, _ versioned) bool { return strings.HasPrefix(key, prefix) })
}

// removeKey deletes a key, and fails the test if there is none.
func (m *memory) removeKey(t *testing.T, key string) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.keys[key]; !ok {
		t.Fatalf("there is no key %s", key)
	}
	delete(m.keys, key)
}
