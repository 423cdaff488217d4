package kvassigner_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/kvassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/cached"
)

// A bucket is a KV in memory. The methods of a real one are calls to a store.
type bucket struct {
	mu     sync.Mutex
	writes int
	values map[string][]byte
	marks  map[string]string // revisions
}

func newBucket() *bucket {
	return &bucket{values: make(map[string][]byte), marks: make(map[string]string)}
}

func (b *bucket) Get(_ context.Context, key string) (value []byte, revision string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.values[key], b.marks[key], nil
}

// Put writes a key if it still has the revision: a conditional write of the store.
func (b *bucket) Put(_ context.Context, key string, value []byte, revision string) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.marks[key] != revision {
		return false, nil
	}
	b.writes++
	b.values[key], b.marks[key] = value, strconv.Itoa(b.writes)
	return true, nil
}

func (b *bucket) List(_ context.Context, prefix string) (entries []kvassigner.Entry, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, value := range b.values {
		if strings.HasPrefix(key, prefix) {
			entries = append(entries, kvassigner.Entry{Key: key, Value: value})
		}
	}
	return entries, nil
}

// Status has no clock here: the adapter uses the clock of the host.
func (b *bucket) Status(context.Context) (leasestore.Status, error) {
	return leasestore.Status{Identity: "the only bucket"}, nil
}

// Passes has no error to judge: memory always answers.
func (b *bucket) Passes(error) bool { return false }

// Two generators, which may as well be two processes, with a store of keys and values.
func Example() {
	kv := newBucket()
	for range 2 {
		numbers := assigner.Leased(kvassigner.LeaseStore(kv, "orders", kvassigner.Config{}), assigner.LeaseConfig{})
		g, err := cached.New(cached.Config{Assigner: numbers})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer g.Close()
		fmt.Println("worker", g.WorkerID())
	}
	// Output:
	// worker 0
	// worker 1
}
