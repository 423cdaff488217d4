// Package testgen makes generators of package cached that are closed with a test, and allocators.
package testgen

import (
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/testkit"
)

// Cached makes a generator of package cached. Without an assigner it has a lease in a folder of its
// own.
func Cached(t testing.TB, cfg cached.Config) *cached.Generator {
	t.Helper()
	if cfg.Assigner == nil {
		// The temporary folder may be kept in memory, which leases refuse otherwise.
		cfg.Assigner = assigner.Leased(fileassigner.LeaseStore(t.TempDir(), fileassigner.Config{}), assigner.LeaseConfig{AllowUndurable: true})
	}
	g, err := cached.NewContext(t.Context(), cfg)
	return testkit.Close(t, g, err)
}

// Allocator returns the allocator of a layout and epoch.
func Allocator(t testing.TB, layout bitsalloc.Layout, epoch time.Time) *bitsalloc.Allocator {
	t.Helper()
	a, err := bitsalloc.New(layout, epoch)
	testkit.Must(t, err)
	return a
}
