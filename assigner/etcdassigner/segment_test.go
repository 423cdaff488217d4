package etcdassigner_test

import (
	"testing"

	"github.com/uidring/uidring/assigner/etcdassigner"
	"github.com/uidring/uidring/internal/test/testserver"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
)

func TestSegments(t *testing.T) {
	s := testserver.Etcd(t)
	f := segmenttest.Fixture{Open: func(t *testing.T) segment.Source { return etcdassigner.SegmentSource(connect(t, s.DSN())) }}
	t.Run("Suite", func(t *testing.T) { segmenttest.Run(t, f) })
	t.Run("Kills", func(t *testing.T) { segmenttest.Kills(t, f, s.DSN(), s.Kill9, func() { s.Restart() }) })
	if r, err := etcdassigner.SegmentSource(nil).Advance(t.Context(), "a", 1); err == nil {
		t.Errorf("without a client: range %v", r)
	}
}
