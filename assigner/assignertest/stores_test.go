package assignertest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
)

func TestMemoryConformsAsAStore(t *testing.T) { runMemory(t, "") }

// As with assigners: for each way in which a store can be wrong, the named case must fail.
func TestStoreSuiteCatchesEveryFault(t *testing.T) {
	for fault, names := range map[string][]string{
		"not shared":        {"MetaIsCreatedOnce", "RowIsCreatedOnce", "LeasesAtOnceGetDifferentWorkers"},
		"clock off":         {"StatusIsStable", "LeaseGrantsWhatTheRowSays"},
		"identity changes":  {"StatusIsStable"},
		"undurable":         {"StatusIsStable"},
		"row for none":      {"NothingIsThereAtFirst"},
		"swap creates":      {"NothingIsThereAtFirst"},
		"meta overwrites":   {"MetaIsCreatedOnce", "MetaIsSwappedByVersion"},
		"meta blind":        {"MetaIsSwappedByVersion"},
		"create overwrites": {"RowIsCreatedOnce", "SwapIsRefusedUnlessAllMatches"},
		"floats":            {"RowComesBackAsWritten"},
		"truncates":         {"RowComesBackAsWritten"},
		"latin":             {"RowComesBackAsWritten"},
		"blind to version":  {"SwapIsRefusedUnlessAllMatches"},
		"blind to fence":    {"SwapIsRefusedUnlessAllMatches"},
		"blind to token":    {"SwapIsRefusedUnlessAllMatches"},
		"folds case":        {"SwapIsRefusedUnlessAllMatches"},
		"pads":              {"SwapIsRefusedUnlessAllMatches"},
		"writes if refused": {"SwapIsRefusedUnlessAllMatches"},
		"compares owners":   {"SwapIsRefusedUnlessAllMatches"},
		"counts changes":    {"SwapThatChangesOnlyTheExpiryCounts"},
		"caller's expiry":   {"StoresClockSetsTheExpiry"},
		"lists held":        {"ReleasedWorkerIsReusedAboveItsFence"},
		"lists 20":          {"ListReturnsAllRows"},
		"check, then act":   {"OneOfManySwapsWins", "NoSwapIsLost"},
		"ignores context":   {"EndedContextChangesNothing", "LeaseWithEndedContextIsAnError"},
		"deletes free rows": {"ReleasedWorkerIsReusedAboveItsFence"},
		"never expires":     {"ExpiredWorkerIsReusedAboveItsFence", "ZombieLosesItsRow"},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBrokenStore$", "-test.v")
			cmd.Env = append(os.Environ(), brokenEnv+"="+fault)
			out, err := cmd.CombinedOutput()
			if _, failed := errors.AsType[*exec.ExitError](err); !failed {
				t.Fatalf("the suite passed: %v", err)
			}
			for _, name := range names {
				if !failedCase(string(out), name) {
					t.Errorf("case %s did not fail\n%s", name, out)
				}
			}
		})
	}
}

func TestBrokenStore(t *testing.T) {
	fault := os.Getenv(brokenEnv)
	if fault == "" {
		t.Skip("run by TestStoreSuiteCatchesEveryFault")
	}
	runMemory(t, fault)
}

func runMemory(t *testing.T, fault string) {
	assignertest.RunStore(t, func(*testing.T) func() assigner.Store {
		shared := &memory{fault: fault, rows: make(map[int64]assigner.Row)}
		return func() assigner.Store {
			if fault == "not shared" {
				return &memory{fault: fault, rows: make(map[int64]assigner.Row)}
			}
			return shared
		}
	})
}

// A memory is a namespace that ends with its process, with at most one fault.
type memory struct {
	fault string

	mu    sync.Mutex
	looks int
	meta  assigner.Meta
	rows  map[int64]assigner.Row
}

// enter locks the memory unless the context has ended.
func (m *memory) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil && m.fault != "ignores context" {
		return err
	}
	m.mu.Lock()
	return nil
}

func (m *memory) Status(ctx context.Context) (s assigner.Status, err error) {
	if err := m.enter(ctx); err != nil {
		return s, err
	}
	defer m.mu.Unlock()
	m.looks++
	s = assigner.Status{Now: time.Now(), Identity: "memory"}
	switch m.fault {
	case "clock off":
		s.Now = s.Now.Add(-time.Hour)
	case "identity changes":
		s.Identity = fmt.Sprint(m.looks)
	case "undurable":
		s.Faults = []string{"it is a memory"}
	}
	return s, nil
}

func (m *memory) LoadMeta(ctx context.Context) (assigner.Meta, error) {
	if err := m.enter(ctx); err != nil {
		return assigner.Meta{}, err
	}
	defer m.mu.Unlock()
	return m.meta, nil
}

func (m *memory) SwapMeta(ctx context.Context, old, next assigner.Meta) (bool, error) {
	if err := m.enter(ctx); err != nil {
		return false, err
	}
	defer m.mu.Unlock()
	blind := m.fault == "meta blind" && m.meta.Version != 0 && old.Version != 0 || m.fault == "meta overwrites" && old.Version == 0
	if m.meta.Version != old.Version && !blind {
		return false, nil
	}
	m.meta = next
	return true, nil
}

func (m *memory) Load(ctx context.Context, workerID int64) (assigner.Row, error) {
	if err := m.enter(ctx); err != nil {
		return assigner.Row{}, err
	}
	defer m.mu.Unlock()
	row, ok := m.rows[workerID]
	if !ok && m.fault == "row for none" {
		row.WorkerID = workerID
	}
	return row, nil
}

func (m *memory) List(ctx context.Context) ([]assigner.Row, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	rows := slices.Collect(maps.Values(m.rows))
	switch {
	case m.fault == "lists held":
		rows = slices.DeleteFunc(rows, func(r assigner.Row) bool { return r.Token == "" })
	case m.fault == "lists 20" && len(rows) > 20:
		rows = rows[:20]
	}
	return rows, nil
}

func (m *memory) Swap(ctx context.Context, old, next assigner.Row, ttl time.Duration) (bool, error) {
	if err := m.enter(ctx); err != nil {
		return false, err
	}
	defer m.mu.Unlock()
	found, exists := m.rows[next.WorkerID]
	match := m.match(found, old, exists)
	if m.fault == "check, then act" {
		m.mu.Unlock()
		runtime.Gosched()
		m.mu.Lock()
	}
	if !match {
		if exists && m.fault == "writes if refused" {
			found.Owner = next.Owner
			m.rows[next.WorkerID] = found
		}
		return false, nil
	}
	if m.fault == "counts changes" && old == next {
		return false, nil
	}
	m.write(next, ttl)
	return true, nil
}

func (m *memory) match(found, old assigner.Row, exists bool) bool {
	a, b := found.Token, old.Token
	switch m.fault {
	case "folds case":
		a, b = strings.ToLower(a), strings.ToLower(b)
	case "pads":
		a, b = strings.TrimRight(a, " "), strings.TrimRight(b, " ")
	case "create overwrites":
		exists = exists && old.Version != 0
	case "swap creates":
		if !exists {
			return true
		}
	case "compares owners":
		if found.Owner != old.Owner {
			return false
		}
	}
	if !exists {
		return old.Version == 0
	}
	return (found.Version == old.Version || m.fault == "blind to version") &&
		(found.Fence == old.Fence || m.fault == "blind to fence") && (a == b || m.fault == "blind to token")
}

func (m *memory) write(next assigner.Row, ttl time.Duration) {
	expires := time.Now().Add(ttl)
	switch m.fault {
	case "caller's expiry":
		expires = next.Expires
	case "never expires":
		expires = time.Now().Add(24 * time.Hour)
	case "floats":
		next.Fence = int64(float64(next.Fence>>12)) << 12
	case "truncates":
		next.Owner = next.Owner[:min(len(next.Owner), 64)]
	case "latin":
		next.Owner = strings.ReplaceAll(next.Owner, "🦫", "?")
	}
	next.Expires = expires
	m.rows[next.WorkerID] = next
	if next.Token == "" && m.fault == "deletes free rows" {
		delete(m.rows, next.WorkerID)
	}
}
