package assignertest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
)

const brokenEnv = "UIDRING_ASSIGNERTEST_BROKEN"

func TestMain(m *testing.M) {
	assignertest.Child(func(arg string) (assigner.Assigner, error) {
		n, err := strconv.ParseInt(arg, 10, 64)
		return assigner.Static(n), err
	})
	os.Exit(m.Run())
}

func TestStaticConforms(t *testing.T) {
	assignertest.Run(t, func(*testing.T) assignertest.AssignerFixture {
		return assignertest.AssignerFixture{
			Assigner: func(holder string) assigner.Assigner {
				n, _ := strconv.ParseInt(holder[strings.LastIndex(holder, "-")+1:], 10, 64)
				return assigner.Static(n)
			},
			Guarantee: assigner.GuaranteeDerived,
			Reusable:  true,
		}
	})
}

func TestProcessesReturnsWhatTheProcessesGot(t *testing.T) {
	got := assignertest.Processes(t, 5, func(i int) string { return strconv.Itoa(10 * i) })
	if fmt.Sprint(got) != "[0 10 20 30 40]" {
		t.Errorf("workers %v, want 0, 10, 20, 30, 40", got)
	}
}

func TestModelConforms(t *testing.T) { runModel(t, "") }

// For each fault that an assigner may have, the named case must fail.
func TestSuiteCatchesEveryFault(t *testing.T) {
	catches(t, func([]string) string { return "^TestBrokenModel$" }, map[string][]string{
		"constant":        {"HoldersGetDifferentWorkers", "HoldersAtOnceGetDifferentWorkers"},
		"modulo":          {"WorkersBeyondTheLayoutAreRefused"},
		"beyond":          {"WorkersBeyondTheLayoutAreRefused"},
		"ignores context": {"EndedContextIsAnError"},
		"wrong guarantee": {"GrantSaysWhatIsPromised"},
		"wrong limit":     {"GrantSaysWhatIsPromised"},
		"renew fails":     {"RenewKeepsALiveLease"},
		"never looks":     {"DeletedRowIsNoticed", "TwoHostsWithDockersUsualAddresses", "TwoProcessesOnOneHost"},
		"reuses deleted":  {"DeletedRowIsNoticed"},
		"pins nothing":    {"AnotherDomainIsRefused"},
		"release once":    {"ReleaseMayBeRepeated"},
		"always new":      {"KeyKeepsItsWorkerOverARestart", "KeyKeepsItsWorkerOverACrash"},
		"folds case":      {"KeysThatLookAlikeGetDifferentWorkers"},
		"frees others":    {"ReleaseDoesNotDisturbTheLastStarter"},
		"same process":    {"TestBrokenModel"},
	})
}

// catches runs the test binary with each fault, and checks that the named cases fail. pattern
// returns the tests to run.
func catches(t *testing.T, pattern func(names []string) string, faults map[string][]string) {
	t.Helper()
	for fault, names := range faults {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run="+pattern(names), "-test.v")
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

// casesOf returns a pattern for named cases of a test.
func casesOf(test string) func(names []string) string {
	return func(names []string) string { return "^" + test + "$/^(" + strings.Join(names, "|") + ")$" }
}

func failedCase(out, name string) bool {
	for line := range strings.Lines(out) {
		if strings.Contains(line, "--- FAIL: ") && strings.Contains(line, name+" (") {
			return true
		}
	}
	return false
}

func TestBrokenModel(t *testing.T) {
	switch fault := os.Getenv(brokenEnv); fault {
	case "":
		t.Skip("run by TestSuiteCatchesEveryFault")
	case "same process":
		assignertest.Processes(t, 3, func(i int) string { return strconv.Itoa(i / 2) })
	default:
		runModel(t, fault)
	}
}

func runModel(t *testing.T, fault string) {
	open := func(guarantee assigner.Guarantee) func(t *testing.T) assignertest.AssignerFixture {
		return func(*testing.T) assignertest.AssignerFixture {
			m := &model{fault: fault, keyed: guarantee == assigner.GuaranteeSticky, rows: make(map[string]*row)}
			return assignertest.AssignerFixture{
				Assigner:  func(holder string) assigner.Assigner { return &holderOf{m: m, key: holder} },
				Guarantee: guarantee,
				Reusable:  m.keyed,
				Pinned:    true,
				Delete:    m.delete,
			}
		}
	}
	t.Run("Fresh", func(t *testing.T) { assignertest.Run(t, open(assigner.GuaranteeFresh)) })
	t.Run("Keyed", func(t *testing.T) {
		assignertest.Run(t, open(assigner.GuaranteeSticky))
		assignertest.RunKeyed(t, open(assigner.GuaranteeSticky))
	})
}

// A model keeps worker IDs in memory, as a database would, with at most one fault.
type model struct {
	mu     sync.Mutex
	fault  string
	keyed  bool
	last   int64
	rows   map[string]*row
	pinned bool
	pin    assigner.Domain
	free   []int64
}

type row struct {
	workerID int64
	token    *lease // nil: free
}

func (m *model) delete(_ *testing.T, workerID int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, r := range m.rows {
		if r.workerID == workerID {
			delete(m.rows, key)
			m.free = append(m.free, workerID)
		}
	}
}

type holderOf struct {
	m   *model
	key string
}

func (h *holderOf) Assign(ctx context.Context, d assigner.Domain) (assigner.Lease, error) {
	m := h.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil && m.fault != "ignores context" {
		return nil, err
	}
	if m.pinned && (m.pin.Layout != d.Layout || !m.pin.Epoch.Equal(d.Epoch)) && m.fault != "pins nothing" {
		return nil, assigner.ErrLayoutMismatch
	}
	m.pinned, m.pin = true, d
	key := h.key
	if m.fault == "folds case" {
		key = strings.ToLower(key)
	}
	if !m.keyed || m.fault == "always new" {
		key = fmt.Sprint(key, " ", len(m.rows), m.last)
	}
	r := m.rows[key]
	if r == nil {
		n, err := m.next(d)
		if err != nil {
			return nil, err
		}
		r = &row{workerID: n}
		m.rows[key] = r
	}
	r.token = &lease{m: m, key: key, row: r}
	return r.token, nil
}

func (m *model) next(d assigner.Domain) (int64, error) {
	switch {
	case m.fault == "constant":
		return 1, nil
	case m.fault == "reuses deleted" && len(m.free) > 0:
		return m.free[0], nil
	case m.last == d.MaxWorkerID() && m.fault == "modulo":
		m.last = 0
	case m.last == d.MaxWorkerID() && m.fault != "beyond":
		return 0, assigner.ErrWorkersExhausted
	}
	m.last++
	return m.last, nil
}

type lease struct {
	m        *model
	key      string
	row      *row
	released bool
}

func (l *lease) Grant() assigner.Grant {
	g := assigner.Grant{WorkerID: l.row.workerID, First: 1, Limit: assigner.Unlimited, Guarantee: assigner.GuaranteeFresh}
	if l.m.keyed {
		g.Guarantee, g.Reusable = assigner.GuaranteeSticky, true
	}
	switch l.m.fault {
	case "wrong guarantee":
		g.Guarantee = assigner.GuaranteeFenced
	case "wrong limit":
		g.Limit = 0
	}
	return g
}

func (l *lease) Renew(context.Context, int64, int64) error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	switch {
	case l.m.fault == "renew fails":
		return errors.New("renew fails")
	case l.m.fault == "never looks":
		return nil
	case l.m.rows[l.key] != l.row || l.row.token != l:
		return assigner.ErrWorkerRowLost
	}
	return nil
}

func (l *lease) Release(context.Context, int64) error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.released && l.m.fault == "release once" {
		return errors.New("released already")
	}
	l.released = true
	if l.m.keyed && (l.row.token == l || l.m.fault == "frees others") {
		l.row.token = nil
	}
	return nil
}
