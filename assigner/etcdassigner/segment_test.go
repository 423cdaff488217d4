package etcdassigner_test

import (
	"errors"
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
	t.Run("Refusals", func(t *testing.T) {
		client := connect(t, s.DSN())
		for _, value := range []string{"", "x", "-1", "1.5"} {
			if _, err := client.Put(t.Context(), "uidring/segment/foreign", value); err != nil {
				t.Fatal(err)
			}
			if r, err := f.Open(t).Advance(t.Context(), "foreign", 1); !errors.Is(err, segment.ErrInvalidRange) {
				t.Errorf("value %q: range %v, error %v, want ErrInvalidRange", value, r, err)
			}
		}
		if r, err := etcdassigner.SegmentSource(nil).Advance(t.Context(), "a", 1); err == nil {
			t.Errorf("without a client: range %v", r)
		}
	})
}
