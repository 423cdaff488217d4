package segmenttest_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
)

// A memory is a store in memory. Each mutant has one fault.
type memory struct {
	mutant string

	mu   sync.Mutex
	next map[string]int64
	down bool
	disk map[string]int64 // the counters at the last restart
}

var errDown = errors.New("down")

func (m *memory) Advance(ctx context.Context, name string, n int64) (segment.Range, error) {
	if m.mutant != "context" && ctx.Err() != nil {
		return segment.Range{}, ctx.Err()
	}
	if m.mutant != "arguments" && (n < 1 || name == "" || len(name) > 64) {
		return segment.Range{}, errors.New("bad argument")
	}
	if m.mutant == "one counter" {
		name = "all"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	next := max(m.next[name], 1)
	switch {
	case m.down:
		return segment.Range{}, errDown
	case m.mutant == "size":
		n = 10
	case n > math.MaxInt64-next && m.mutant != "overflow":
		return segment.Range{}, segment.ErrExhausted
	}
	if m.mutant == "read and write" {
		m.mu.Unlock()
		runtime.Gosched()
		m.mu.Lock()
	}
	last := next + n - 1
	m.next[name] = last + 1
	switch m.mutant {
	case "overlap":
		m.next[name] = last
	case "waste":
		m.next[name] += 1000
	}
	return segment.Range{First: next, Last: last, Delta: 1}, nil
}

func (m *memory) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = true
	if m.mutant == "forgets commits" {
		m.next = maps.Clone(m.disk)
	}
}

func (m *memory) restart() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = false
	m.disk = maps.Clone(m.next)
}

const mutantEnv = "UIDRING_SEGMENTTEST_MUTANT"

// TestMutant runs the suite for the mutant of the environment, or for the store without a fault.
func TestMutant(t *testing.T) {
	newFixture := func() (*memory, segmenttest.Fixture) {
		m := &memory{mutant: os.Getenv(mutantEnv), next: make(map[string]int64), disk: make(map[string]int64)}
		return m, segmenttest.Fixture{Open: func(*testing.T) segment.Source {
			if m.mutant == "a counter for each process" {
				return &memory{next: make(map[string]int64)}
			}
			return m
		}}
	}
	_, f := newFixture()
	segmenttest.Run(t, f)
	m, f := newFixture()
	t.Run("Outages", func(t *testing.T) { segmenttest.Outages(t, f, m.kill, m.restart) })
}

// TestSuiteCatchesMutants runs TestMutant in a process for each mutant.
func TestSuiteCatchesMutants(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for mutant, want := range map[string]string{
		"context":                    "ACallEndsWithItsContext",
		"arguments":                  "BadArgumentsChangeNothing",
		"one counter":                "CountersAreApart",
		"size":                       "RangesFollowEachOther",
		"overflow":                   "ACounterThatIsUsedUpSaysSo",
		"read and write":             "RangesOfConcurrentCallsAreDisjoint",
		"overlap":                    "RangesFollowEachOther",
		"waste":                      "RangesFollowEachOther",
		"a counter for each process": "GeneratorsShareACounter",
		"forgets commits":            "Outages",
	} {
		t.Run(mutant, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestMutant$")
			cmd.Env = append(os.Environ(), mutantEnv+"="+mutant)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestMutant/"+want) {
				t.Errorf("%v, want a failure of %s\n%s", err, want, out)
			}
		})
	}
}
