package redisassigner_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/redisassigner"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
)

func TestSegments(t *testing.T) {
	s := testserver.Redis(t)
	f := segmenttest.Fixture{Open: func(t *testing.T) segment.Source {
		return redisassigner.SegmentSource(connect(t, options(s.Addr())), redisassigner.SegmentConfig{})
	}}
	t.Run("Suite", func(t *testing.T) { segmenttest.Run(t, f) })
	t.Run("Kills", func(t *testing.T) { segmenttest.Kills(t, f, s.Addr(), s.Kill9, func() { s.Restart() }) })
}

func TestAdvanceOnAnUndurableServerIsRefused(t *testing.T) {
	t.Parallel()
	primary := testserver.Redis(t)
	admin := connect(t, options(primary.Addr()))
	source := func(addr string, cfg redisassigner.SegmentConfig) segment.Source {
		return redisassigner.SegmentSource(connect(t, options(addr)), cfg)
	}
	refused := func(s segment.Source, want string) {
		t.Helper()
		if r, err := s.Advance(t.Context(), "a", 1); !errors.Is(err, leasestore.ErrNotDurable) || !strings.Contains(err.Error(), want) {
			t.Errorf("range %v, error %v, want ErrNotDurable with %q", r, err, want)
		}
	}
	replica := testserver.RedisReplica(t, primary)
	refused(source(primary.Addr(), redisassigner.SegmentConfig{}), "connected_slaves=1 (allowed: 0)")
	refused(source(replica.Addr(), redisassigner.SegmentConfig{AllowUndurable: true}), "connect to the primary")
	replica.Kill9() // a replica that writes its first file does not stop
	testkit.Until(t, "the primary notices the end of its replica", func() bool {
		return strings.Contains(admin.Info(t.Context(), "replication").Val(), "connected_slaves:0")
	})
	testkit.Must(t, admin.ConfigSet(t.Context(), "appendfsync", "everysec").Err())
	refused(source(primary.Addr(), redisassigner.SegmentConfig{}), "appendfsync=everysec (allowed: always)")
	r, err := source(primary.Addr(), redisassigner.SegmentConfig{AllowUndurable: true}).Advance(t.Context(), "a", 1)
	if err != nil || r.First != 1 {
		t.Errorf("with AllowUndurable: range %v, %v, want 1: a call that was refused has moved the counter", r, err)
	}
	if r, err := redisassigner.SegmentSource(nil, redisassigner.SegmentConfig{}).Advance(t.Context(), "a", 1); err == nil {
		t.Errorf("without a client: range %v, want an error", r)
	}
}
