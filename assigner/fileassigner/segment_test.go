package fileassigner_test

import (
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
)

func TestSegments(t *testing.T) {
	dir := diskFolder(t)
	f := segmenttest.Fixture{Open: func(*testing.T) segment.Source { return fileassigner.SegmentSource(dir, fileassigner.SegmentConfig{}) }}
	t.Run("Suite", func(t *testing.T) { segmenttest.Run(t, f) })
	t.Run("Kills", func(t *testing.T) { segmenttest.Kills(t, f, dir, nil, nil) })
}

// Leases and counters of one folder leave each other alone.
func TestSegmentsBesideLeases(t *testing.T) {
	dir := diskFolder(t)
	leases, source := fileassigner.LeaseStore(dir), fileassigner.SegmentSource(dir, fileassigner.SegmentConfig{})
	for i := range int64(3) {
		if r, err := source.Advance(t.Context(), "a", 10); err != nil || r.First != 10*i+1 {
			t.Errorf("range %v, %v, want it to begin at %d", r, err, 10*i+1)
		}
		row := leasestore.Row{WorkerID: i, Version: 1, Fence: i, Token: "mine"}
		if ok, err := leases.Swap(t.Context(), leasestore.Row{}, row, time.Hour); err != nil || !ok {
			t.Errorf("swap of row %d: %v, %v", i, ok, err)
		}
	}
	if rows, err := leases.List(t.Context()); err != nil || len(rows) != 3 {
		t.Errorf("rows %v, %v, want 3", rows, err)
	}
}
