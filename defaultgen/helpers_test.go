package defaultgen_test

import (
	"testing"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/gentest"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/uidringtest"
)

// open makes a generator that is closed when the test ends. Without an Assigner it gets a fresh
// worker ID, without a Layout the narrow one with units of a second, without an Epoch its own.
func open(t testing.TB, cfg defaultgen.Config) *defaultgen.Generator {
	t.Helper()
	g, err := defaultgen.New(complete(cfg))
	return testkit.Close(t, g, err)
}

func complete(cfg defaultgen.Config) defaultgen.Config {
	if cfg.Assigner == nil {
		cfg.Assigner = &fakeassigner.Assigner{}
	}
	if cfg.Layout == (bitsalloc.Layout{}) {
		cfg.Layout = gentest.Narrow()
	}
	if cfg.Epoch.IsZero() {
		cfg.Epoch = gentest.NewEpoch()
	}
	return cfg
}

// onFakeClock is open with a clock that stands still at the beginning of unit 1,000.
func onFakeClock(t testing.TB, cfg defaultgen.Config) (*defaultgen.Generator, *uidringtest.Clock) {
	t.Helper()
	cfg = complete(cfg)
	d := uidringtest.NewClock(cfg.Epoch.Add(1000 * cfg.Layout.Unit))
	cfg.Now = d.Now
	return open(t, cfg), d
}
