package uidring_test

import (
	"context"
	"errors"
	"testing"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uidringtest"
)

// A generator is a generator of any package of this module.
type generator interface {
	Next() (int64, error)
	NextContext(context.Context) (int64, error)
	NextID() (uidring.ID, error)
	NextIDContext(context.Context) (uidring.ID, error)
	Fill([]int64) (int, error)
	Close() error
}

// NextID and NextIDContext continue the IDs of Next, and return its errors.
func TestGeneratorsIssueTypedIDs(t *testing.T) {
	source := fileassigner.SegmentSource(t.TempDir(), fileassigner.SegmentConfig{AllowUndurable: true})
	for name, open := range map[string]func() (generator, error){
		"cached":      func() (generator, error) { return cached.New(cached.Config{Assigner: uidringtest.Worker(7)}) },
		"defaultgen":  func() (generator, error) { return defaultgen.New(defaultgen.Config{Assigner: uidringtest.Worker(7)}) },
		"segment":     func() (generator, error) { return segment.New(segment.Config{Name: "orders", Source: source}) },
		"uidringtest": func() (generator, error) { return uidringtest.New(1, 1), nil },
	} {
		t.Run(name, func(t *testing.T) {
			g, err := open()
			if err != nil {
				t.Fatal(err)
			}
			plain, err := g.Next()
			if err != nil {
				t.Fatal(err)
			}
			typed, err := g.NextID()
			if err != nil || int64(typed) <= plain {
				t.Errorf("NextID = %v, %v after %d", typed, err, plain)
			}
			waited, err := g.NextIDContext(t.Context())
			if err != nil || waited <= typed {
				t.Errorf("NextIDContext = %v, %v after %v", waited, err, typed)
			}
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
			_, closed := g.Next()
			if id, err := g.NextID(); id != 0 || err == nil || !errors.Is(err, closed) {
				t.Errorf("NextID = %v, %v after Close, want %v", id, err, closed)
			}
			if id, err := g.NextIDContext(t.Context()); id != 0 || err == nil || !errors.Is(err, closed) {
				t.Errorf("NextIDContext = %v, %v after Close, want %v", id, err, closed)
			}
		})
	}
}
