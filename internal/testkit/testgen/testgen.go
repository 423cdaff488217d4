// Package testgen makes generators that are closed with a test, and fail it if that fails.
package testgen

import (
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/testkit/cleanup"
)

// Cached makes a generator of package cached. Without an assigner it has a lease in a folder of its
// own.
func Cached(t testing.TB, cfg cached.Config) *cached.Generator {
	t.Helper()
	if cfg.Assigner == nil {
		// The temporary folder may be kept in memory, which leases refuse otherwise.
		cfg.Assigner = assigner.Leased(fileassigner.LeaseStore(t.TempDir()), assigner.LeaseConfig{AllowUndurable: true})
	}
	g, err := cached.NewContext(t.Context(), cfg)
	return cleanup.Close(t, g, err)
}

// Default makes a generator of package defaultgen.
func Default(t testing.TB, cfg defaultgen.Config) *defaultgen.Generator {
	t.Helper()
	g, err := defaultgen.NewContext(t.Context(), cfg)
	return cleanup.Close(t, g, err)
}

// Used makes a leased generator of package cached that has issued n IDs.
func Used(t testing.TB, n int) *cached.Generator {
	t.Helper()
	g := Cached(t, cached.Config{DatacenterID: 3})
	if _, err := g.Fill(make([]int64, n)); err != nil {
		t.Fatal(err)
	}
	return g
}
