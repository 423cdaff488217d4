package leasestore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/storecall"
)

// An operation is one call of Horizon or Recover.
type operation struct {
	ctx    context.Context
	store  Store
	status Status // at the beginning
	meta   Meta   // as the store has it
	alloc  *bitsalloc.Allocator
	lead   int64 // of Recover, in units
}

var errNoStore = errors.New("store nil, allowed: a Store")

// named puts the name of an exported func before its error.
func named(operation string, err *error) {
	if *err != nil {
		*err = fmt.Errorf("leasestore: %s: %w", operation, *err)
	}
}

// begin reads the status and the meta row. A lossy store may forget changes to both.
func begin(ctx context.Context, store Store) (*operation, error) {
	if store == nil {
		return nil, errNoStore
	}
	status, err := store.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the status of the store: %w", err)
	}
	if status.Lossy {
		return nil, errors.New("the store is lossy: it may forget claims, and quarantines every claim instead")
	}
	o := &operation{ctx: ctx, store: store, status: status}
	if o.meta, err = o.loadMeta(); err != nil {
		return nil, err
	}
	o.alloc, err = bitsalloc.New(o.meta.Layout, o.meta.Epoch)
	return o, err
}

// loadMeta reads the meta row. An overlap keeps out new claims only.
func (o *operation) loadMeta() (Meta, error) {
	meta, err := o.store.LoadMeta(o.ctx)
	switch {
	case err != nil && !errors.Is(err, ErrOverlap):
		return meta, fmt.Errorf("read the meta row: %w", err)
	case meta.Version == 0:
		return meta, errors.New("there is no meta row: the namespace was never used, or its rows were deleted, which must never happen")
	}
	return meta, nil
}

// swapMeta replaces the meta row that was read by next, with a new version and a new token, and
// reports whether it did. o.meta is then the meta row that the store has.
func (o *operation) swapMeta(next Meta, prefix string) (bool, error) {
	next.Version++
	next.Token = prefix + rand.Text()
	ok, err := o.store.SwapMeta(o.ctx, o.meta, next)
	if o.meta, err = storecall.Swapped(ok, err, o.meta, next, o.loadMeta); err != nil {
		return false, fmt.Errorf("the meta row: %w", err)
	}
	return o.meta.Same(next), nil
}
