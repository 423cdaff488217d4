package segmenttest_test

import (
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
)

// A memory is a store in memory. Each mutant has one fault.
type memory struct {
	mutant string

	mu   sync.Mutex
	next map[string]int64
}

func newMemory(mutant string) *memory { return &memory{mutant: mutant, next: make(map[string]int64)} }

func (m *memory) Advance(ctx context.Context, name string, n int64) (segment.Range, error) {
	if ctx.Err() != nil {
		return segment.Range{}, ctx.Err()
	}
	if n < 1 || name == "" || len(name) > 64 {
		return segment.Range{}, errors.New("bad argument")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	next := max(m.next[name], 1)
	if n > math.MaxInt64-next {
		return segment.Range{}, segment.ErrExhausted
	}
	if m.mutant == "read and write" {
		m.mu.Unlock()
		runtime.Gosched()
		m.mu.Lock()
	}
	last := next + n - 1
	m.next[name] = last + 1
	return segment.Range{First: next, Last: last, Increment: 1}, nil
}

const (
	mutantEnv = "UIDRING_SEGMENTTEST_MUTANT"
	forgets   = "forgets commits"
)

// The store of each child process begins anew.
func TestMain(m *testing.M) {
	segmenttest.Child(func(string) (segment.Source, error) { return newMemory(""), nil })
	m.Run()
}

// TestMutant runs the suite for the mutant of the environment, or for the store without a fault.
func TestMutant(t *testing.T) {
	m := newMemory(os.Getenv(mutantEnv))
	f := segmenttest.Fixture{Open: func(*testing.T) segment.Source { return m }}
	segmenttest.Run(t, f)
	if m.mutant == forgets {
		t.Run("Kills", func(t *testing.T) { segmenttest.Kills(t, f, "", nil, nil) })
	}
}

// TestSuiteCatchesMutants runs TestMutant in a process for each mutant.
func TestSuiteCatchesMutants(t *testing.T) {
	program, err := os.Executable()
	testkit.Must(t, err)
	for mutant, want := range map[string]string{
		"read and write": "RangesOfConcurrentCallsAreDisjoint",
		forgets:          "Kills",
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
