package segmenttest_test

import (
	"testing"

	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
)

func ExampleRun() {
	// In a file of yours that ends in _test.go, with a source of yours.
	_ = func(t *testing.T) {
		dir := t.TempDir() // the store of all cases
		segmenttest.Run(t, segmenttest.Fixture{
			Open: func(*testing.T) segment.Source { return fileassigner.SegmentSource(dir, fileassigner.SegmentConfig{}) },
		})
	}
}
