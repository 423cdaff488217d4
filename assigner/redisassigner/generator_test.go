package redisassigner_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/redisassigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/testkit/poll"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

func TestNewContextWaitsOutTheQuarantineAndNewDoesNot(t *testing.T) {
	t.Parallel()
	s := redisassigner.LeaseStore(connect(t, options(testserver.Redis(t).Addr())), namespace)
	if g, err := cached.New(cached.Config{Assigner: assigner.Leased(s, assigner.LeaseConfig{})}); !errors.Is(err, assigner.ErrQuarantined) {
		t.Errorf("New: %v, %v; want ErrQuarantined", g, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), poll.Patience)
	defer cancel()
	begin := time.Now()
	g, err := cached.NewContext(ctx, cached.Config{Assigner: assigner.Leased(s, quick())})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if took, want := time.Since(begin), quick().Window+quick().MaxSkew; took < want {
		t.Errorf("NewContext took %v, want %v at least", took, want)
	}
	first, err := g.NextContext(ctx)
	if err != nil {
		t.Fatal(err)
	}
	fields, err := g.Parse(first)
	if err != nil || fields.Time.Before(begin.Add(quick().Window)) {
		t.Errorf("first ID %v, %v; want one of after the quarantine", fields, err)
	}
}
