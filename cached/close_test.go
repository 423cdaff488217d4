package cached_test

import (
	"testing"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/testkit"
)

// A padding pass in progress may use the worker ID.
func TestPaddingPassIsWaitedFor(t *testing.T) {
	for name, call := range map[string]func(*cached.Generator){
		"Invalidate": (*cached.Generator).Invalidate,
		"Used":       func(g *cached.Generator) { g.Used() },
	} {
		g := open(t, cached.Config{Layout: narrow(), Assigner: &fakeassigner.Assigner{OnAssign: fresh}, MaxStaleness: -1})
		unlock := g.LockPadding()
		waits, wait := testkit.Waits(func() { call(g) })
		if !waits {
			t.Errorf("%s has returned in the middle of a padding pass", name)
		}
		unlock()
		wait()
	}
}
