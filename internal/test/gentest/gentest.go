// Package gentest is the conformance suite of the generators with a worker ID: packages cached and
// defaultgen run it. It has the tests of the promises that both make.
package gentest

import (
	"context"
	"errors"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/scripts"
	"github.com/uidring/uidring/internal/test/testkit"
)

// A Generator is a generator under test.
type Generator interface {
	scripts.Generator
	Parse(id int64) (bitsalloc.Fields, error)
	WorkerID() int64
}

// A Config has the fields that the Configs of both packages have. Policy is a value of the field
// with the policies of a package.
type Config struct {
	keeper.Settings
	Policy int

	Words  testkit.Words    // of the command open of a script, for the fields that one package has
	Padded func(blocks int) // Trace.Padded of package cached; or nil
}

// A Subject is a package of generators.
type Subject struct {
	Package  string   // the prefix of its errors
	Policies []string // names of the policies in scripts

	New      func(context.Context, Config) (Generator, error)
	Validate func(Config) error
	// Lock keeps the generator from preparing IDs until the func that it returns is called.
	Lock func(Generator) (unlock func())
	// Used calls the hook that tells the keeper of the worker ID the highest delta.
	Used func(Generator)

	// Lane returns Next of a new lane; nil if the package has no lanes.
	Lane func(Generator) func() (int64, error)
	// Commands are commands of scripts that one package has.
	Commands map[string]func(Generator, testkit.Words) (string, error)
	// Text returns the text of an error, the same under each policy.
	Text func(policy int, err error) string

	// Off is how far the time in an ID may be from the time of the call.
	Off time.Duration
	// Gapless means that a generator that is asked for IDs uses all deltas of a grant.
	Gapless bool
	// Misled is how many requests to the store may follow a single wrong reading of the clock.
	Misled int64
}

// suite is a Subject with one policy.
type suite struct {
	Subject
	policy int
}

// Run runs the suite, each test with each policy.
func Run(t *testing.T, subject Subject) {
	for _, test := range []struct {
		name string
		run  func(*suite, *testing.T)
		real bool // in real time, outside of a bubble
	}{
		{"defaults", (*suite).defaults, false},

		{"clock wrong in one reading", (*suite).wrongReading, true},

		{"Close under load", (*suite).closeUnderLoad, true},

		{"preparation is waited for", (*suite).preparation, true},
		{"worker IDs that change under load", (*suite).changeUnderLoad, true},
		{"shards across processes", (*suite).shardsAcrossProcesses, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			for policy := range subject.Policies {
				s := &suite{subject, policy}
				if test.real {
					test.run(s, t)
				} else {
					synctest.Test(t, func(t *testing.T) { test.run(s, t) })
				}
			}
		})
	}
}

// Start is the instant at which time starts in a bubble.
var Start = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// epochs numbers the epochs that the tests have taken.
var epochs atomic.Int64

// NewEpoch returns an epoch of the test's own, whole minutes before Start, where a unit of any
// length begins. The process remembers a worker ID by epoch, and a generator that follows another
// one starts above it.
func NewEpoch() time.Time {
	return Start.Add(-24*time.Hour - time.Duration(epochs.Add(1))*time.Minute)
}

// Narrow has 16 IDs a unit, so that a test gets through them.
func Narrow() bitsalloc.Layout {
	return bitsalloc.Layout{DeltaBits: 28, DatacenterBits: 5, WorkerBits: 17, SequenceBits: 4, Unit: time.Second}
}

// Always grants the same at each call.
func Always(g assigner.Grant) fakeassigner.AssignFunc {
	return func(context.Context, int, assigner.Domain) (assigner.Grant, error) { return g, nil }
}

// config completes c: without an Assigner it gets fresh worker IDs, without a Layout the narrow
// one, without an Epoch its own.
func (s *suite) config(c keeper.Settings) Config {
	if c.Assigner == nil {
		c.Assigner = &fakeassigner.Assigner{}
	}
	if c.Layout == (bitsalloc.Layout{}) {
		c.Layout = Narrow()
	}
	if c.Epoch.IsZero() {
		c.Epoch = NewEpoch()
	}
	return Config{Settings: c, Policy: s.policy}
}

// make makes a generator. An error comes with nil, not with a nil pointer.
func (s *suite) make(t testing.TB, c Config) (Generator, error) {
	t.Helper()
	g, err := s.New(t.Context(), c)
	if err != nil {
		if !reflect.ValueOf(g).IsNil() {
			t.Errorf("New returns %v with an error", g)
		}
		return nil, err
	}
	return g, nil
}

// open makes a generator that is closed when the test ends.
func (s *suite) open(t testing.TB, c keeper.Settings) Generator {
	t.Helper()
	return s.openWith(t, s.config(c))
}

func (s *suite) openWith(t testing.TB, c Config) Generator {
	t.Helper()
	g, err := s.make(t, c)
	return testkit.Close(t, g, err)
}

// Parse returns the fields of the ID that a call has returned without an error.
func Parse(t testing.TB, g Generator, id int64, err error) bitsalloc.Fields {
	t.Helper()
	f, errParse := g.Parse(id)
	if err = errors.Join(err, errParse); err != nil {
		t.Fatalf("ID %d: %v", id, err)
	}
	return f
}

// ParseID is Parse for an ID that came without an error.
func ParseID(t testing.TB, g Generator, id int64) bitsalloc.Fields {
	t.Helper()
	return Parse(t, g, id, nil)
}

// Wait returns the fields of the next ID, and waits for it.
func Wait(t testing.TB, g Generator) bitsalloc.Fields {
	t.Helper()
	id, err := g.NextContext(t.Context())
	return Parse(t, g, id, err)
}

// Fill returns n IDs, which must be there and increase.
func Fill(t testing.TB, g Generator, n int) []int64 {
	t.Helper()
	ids := make([]int64, n)
	if got, err := g.Fill(ids); got != n || err != nil {
		t.Fatalf("Fill of %d = %d, %v", n, got, err)
	}
	for i, id := range ids {
		if id <= 0 || i > 0 && id <= ids[i-1] {
			t.Fatalf("Fill gives %d IDs, and ID %d of them is %d", n, i, id)
		}
	}
	return ids
}

// TakeAny takes IDs in one of four ways, an ID or up to len(dst) together, and returns the IDs in
// dst.
func TakeAny(t testing.TB, g Generator, way int, dst []int64) (ids []int64, err error) {
	n := 1
	switch way % 4 {
	case 0:
		dst[0], err = g.Next()
	case 1:
		dst[0], err = g.NextContext(t.Context())
	case 2:
		n, err = g.Fill(dst)
		return dst[:n], err
	case 3:
		dst[0], n, err = g.Reserve(len(dst))
	}
	if err != nil {
		return nil, err
	}
	for i := range n {
		dst[i] = dst[0] + int64(i)
	}
	return dst[:n], nil
}
