package main

import (
	"errors"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/testgen"
	"github.com/uidring/uidring/internal/test/testkit"
)

// A check that cannot fail shows nothing.
func TestCountFindsWrongIDs(t *testing.T) {
	alloc := testgen.Allocator(t, bitsalloc.Default(), bitsalloc.DefaultEpoch())
	g := testgen.Cached(t, cached.Config{Assigner: assigner.Static(500), AllowReuse: true})
	c := &count{layout: alloc.Layout(), gen: g, goroutines: 4, target: 300_000}
	id := func(worker, delta, sequence int64) int64 {
		id, err := alloc.Allocate(delta, 0, worker, sequence)
		testkit.Must(t, err)
		return id
	}
	if err := c.run(t.Context()); err != nil || c.taken.Load() < c.target {
		t.Fatalf("%d IDs, %v", c.taken.Load(), err)
	}
	for _, tt := range []struct {
		name string
		ids  []int64
		want error
	}{
		{"in order", []int64{id(500, 7, 1), id(500, 7, 3), id(500, 8, 0)}, nil},
		{"other goroutine, between them", []int64{id(500, 7, 2)}, nil},
		{"other goroutine, the same", []int64{id(500, 7, 0), id(500, 7, 2)}, errDuplicate},
		{"same goroutine, the same", []int64{id(500, 9, 2), id(500, 9, 2)}, errOrder},
		{"same goroutine, lower", []int64{id(500, 9, 2), id(500, 9, 1)}, errOrder},
		{"other worker", []int64{id(501, 9, 2)}, errForeign},
	} {
		if err := c.add(new(int64), tt.ids); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	c.taken.Add(1)
	if err := c.run(t.Context()); !errors.Is(err, errMiscount) {
		t.Errorf("an ID too few in the bitmap: %v, want %v", err, errMiscount)
	}
}
