package kvassigner_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/kvassigner"
	"github.com/uidring/uidring/assigner/leasestore"
)

var errDown = errors.New("the store is down")

// A memory is a bucket with faults and a clock, shared by several handles.
type memory struct {
	*bucket
	now    func() time.Time // nil: it has no clock
	twice  bool             // its client sends each write twice, and returns the second answer
	before func(key string) // called before each write

	down  bool     // under the lock of the bucket, as the others
	fails string   // the call that fails while others do not
	looks int      // calls of Status
	lists []string // the prefixes of all calls of List
}

func (m *memory) String() string { return "memory at ram:1" }

func newMemory() *memory { return &memory{bucket: newBucket(), now: time.Now} }

// enter returns an error that hides the end of the context, as a client may.
func (m *memory) enter(ctx context.Context, call string, note func()) error {
	if ctx.Err() != nil {
		return errors.New("request failed")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down || m.fails == call {
		return errDown
	}
	note()
	return nil
}

func (m *memory) Get(ctx context.Context, key string) (value []byte, revision string, err error) {
	if err := m.enter(ctx, "get", func() {}); err != nil {
		return nil, "", err
	}
	return m.bucket.Get(ctx, key)
}

func (m *memory) Put(ctx context.Context, key string, value []byte, revision string) (ok bool, err error) {
	if m.before != nil {
		m.before(key)
	}
	if err := m.enter(ctx, "put", func() {}); err != nil {
		return false, err
	}
	ok, err = m.bucket.Put(ctx, key, value, revision)
	return ok && !m.twice, err
}

func (m *memory) List(ctx context.Context, prefix string) (entries []kvassigner.Entry, err error) {
	if err := m.enter(ctx, "list", func() { m.lists = append(m.lists, prefix) }); err != nil {
		return nil, err
	}
	return m.bucket.List(ctx, prefix)
}

func (m *memory) Status(ctx context.Context) (status leasestore.Status, err error) {
	if err := m.enter(ctx, "status", func() { m.looks++ }); err != nil {
		return status, err
	}
	status.Identity = "memory"
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
