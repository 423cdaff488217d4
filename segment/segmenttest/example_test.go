package segmenttest_test

import (
	"testing"

	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
)

var conformance func(t *testing.T)

func ExampleRun() {
	// In a file of yours that ends in _test.go, with a source of yours.
	conformance = func(t *testing.T) {
		dir := t.TempDir()                                      // the store of all cases
		cfg := fileassigner.SegmentConfig{AllowUndurable: true} // some hosts keep temporary files in memory
		segmenttest.Run(t, segmenttest.Fixture{
			Open: func(*testing.T) segment.Source { return fileassigner.SegmentSource(dir, cfg) },
		})
	}
}

func TestFolderConforms(t *testing.T) {
	ExampleRun()
	conformance(t)
}
