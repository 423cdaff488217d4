package cached_test

import (
	"errors"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/cached"
)

// Two generators of one process with one Fenced owner would take the number from each other for
// ever.
func TestASecondGeneratorOfAFencedOwnerIsRefused(t *testing.T) {
	store := fileassigner.LeaseStore(t.TempDir())
	open := func() (*cached.Generator, error) {
		cfg := assigner.LeaseConfig{AllowUndurable: true} // the folder may be in memory
		return cached.New(cached.Config{Assigner: assigner.Fenced(store, 7, "orders-7", cfg)})
	}
	first, err := open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(); !errors.Is(err, assigner.ErrWorkerInUse) {
		t.Fatalf("New: %v, want ErrWorkerInUse", err)
	}
	if _, err := first.Next(); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := open()
	if err != nil {
		t.Fatalf("New after Close: %v", err)
	}
	defer second.Close()
	if _, err := second.Next(); err != nil {
		t.Error(err)
	}
}
