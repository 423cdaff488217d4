package segmenttest_test

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner/kvassigner"
	"github.com/uidring/uidring/internal/test/memkv"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
)

// newSource returns a source in memory. Each mutant has one fault.
func newSource(mutant string) segment.Source {
	kv := &memkv.KV{Server: new(memkv.Server)}
	if mutant == overwrites {
		return kvassigner.SegmentSource(blind{kv}, kvassigner.SegmentConfig{})
	}
	return kvassigner.SegmentSource(kv, kvassigner.SegmentConfig{})
}

// A blind store writes a key without regard to the revision that its caller has read.
type blind struct{ *memkv.KV }

func (b blind) Put(ctx context.Context, key string, value []byte, _ string) (bool, error) {
	runtime.Gosched()
	_, revision, err := b.Get(ctx, key)
	if err != nil {
		return false, err
	}
	return b.KV.Put(ctx, key, value, revision)
}

const (
	mutantEnv  = "UIDRING_SEGMENTTEST_MUTANT"
	overwrites = "read and write"
	forgets    = "forgets commits"
)

// The store of each child process begins anew.
func TestMain(m *testing.M) {
	segmenttest.Child(func(string) (segment.Source, error) { return newSource(""), nil })
	m.Run()
}

// TestMutant runs the suite for the mutant of the environment, or for the store without a fault.
func TestMutant(t *testing.T) {
	mutant := os.Getenv(mutantEnv)
	source := newSource(mutant)
	f := segmenttest.Fixture{Open: func(*testing.T) segment.Source { return source }}
	segmenttest.Run(t, f)
	if mutant == forgets {
		t.Run("Kills", func(t *testing.T) { segmenttest.Kills(t, f, "", nil, nil) })
	}
}

// TestSuiteCatchesMutants runs TestMutant in a process for each mutant.
func TestSuiteCatchesMutants(t *testing.T) {
	program, err := os.Executable()
	testkit.Must(t, err)
	for mutant, want := range map[string]string{
		overwrites: "RangesOfConcurrentCallsAreDisjoint",
		forgets:    "Kills",
	} {
		t.Run(mutant, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestMutant$")
			cmd.Env = append(os.Environ(), mutantEnv+"="+mutant, "UIDRING_KILLS=1ms")
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestMutant/"+want) {
				t.Errorf("%v, want a failure of %s\n%s", err, want, out)
			}
		})
	}
}
