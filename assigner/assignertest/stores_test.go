package assignertest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
)

func TestMemoryConformsAsAStore(t *testing.T) {
	t.Parallel()
	runMemory(t, "", false)
}

func TestMemoryWithBulkCreationConformsAsAStore(t *testing.T) {
	t.Parallel()
	runMemory(t, "free rows", false)
}

func TestLossyMemoryConformsAsAStore(t *testing.T) {
	t.Parallel()
	runMemory(t, "", true)
}

// For each fault that a store may have, the named case must fail.
func TestStoreSuiteCatchesEveryFault(t *testing.T) {
	catches(t, casesOf("TestBrokenStore"), map[string][]string{
		"not shared":               {"MetaIsCreatedOnce", "RowIsCreatedOnce", "LeasesAtOnceGetDifferentWorkers"},
		"clock off":                {"StatusIsStable", "LeaseGrantsWhatTheRowSays"},
		"identity changes":         {"StatusIsStable"},
		"undurable":                {"StatusIsStable"},
		"row for none":             {"NothingIsThereAtFirst"},
		"swap creates":             {"NothingIsThereAtFirst", "DeletedRowEndsItsLease", "RecreatedNamespaceEndsItsLeases"},
		"meta overwrites":          {"MetaIsCreatedOnce", "MetaIsSwappedByVersionAndToken"},
		"meta blind":               {"MetaIsSwappedByVersionAndToken"},
		"meta blind to token":      {"MetaIsSwappedByVersionAndToken"},
		"meta without fence":       {"MetaIsCreatedOnce", "MetaIsSwappedByVersionAndToken", "RecoveryRaisesWhatARestoreLost"},
		"meta without token":       {"MetaIsCreatedOnce", "AmbiguousSwapOfTheMetaRowWastesNoWorker"},
		"meta without identity":    {"MetaIsCreatedOnce", "AnotherIdentityIsQuarantined"},
		"row without identity":     {"RowComesBackAsWritten", "AnotherIdentityIsQuarantined"},
		"create overwrites":        {"RowIsCreatedOnce", "SwapIsRefusedUnlessAllMatches"},
		"floats":                   {"RowComesBackAsWritten"},
		"truncates":                {"RowComesBackAsWritten"},
		"latin":                    {"RowComesBackAsWritten"},
		"blind to version":         {"SwapIsRefusedUnlessAllMatches"},
		"blind to fence":           {"SwapIsRefusedUnlessAllMatches"},
		"blind to token":           {"SwapIsRefusedUnlessAllMatches"},
		"folds case":               {"SwapIsRefusedUnlessAllMatches"},
		"pads":                     {"SwapIsRefusedUnlessAllMatches"},
		"writes if refused":        {"SwapIsRefusedUnlessAllMatches"},
		"compares owners":          {"SwapIsRefusedUnlessAllMatches"},
		"counts changes":           {"SwapThatChangesOnlyTheExpiryCounts"},
		"caller's expiry":          {"StoresClockSetsTheExpiry"},
		"lists held":               {"ListReturnsAllRows"},
		"expired are held":         {"ExpiredReturnsExpiredRowsAlone"},
		"expired without bound":    {"ExpiredReturnsExpiredRowsAlone"},
		"lists 20":                 {"ListReturnsAllRows"},
		"seen an hour ago":         {"SeenIsTheTimeOfTheLastWrite"},
		"seen ahead":               {"SeenIsTheTimeOfTheLastWrite"},
		"seen goes back":           {"SeenIsTheTimeOfTheLastWrite"},
		"seen once":                {"SeenIsTheTimeOfTheLastWrite"},
		"check, then act":          {"OneOfManySwapsWins", "NoSwapIsLost"},
		"ignores context":          {"EndedContextChangesNothing", "LeaseWithEndedContextIsAnError"},
		"deletes free rows":        {"ReleasedWorkerIsReusedAboveItsFence"},
		"never expires":            {"ExpiredWorkerIsReusedAboveItsFence", "ZombieLosesItsRow"},
		"reads lag":                {"AmbiguousSwapIsReadAgain", "ReleasedWorkerIsReusedAboveItsFence"},
		"acknowledges renewals":    {"RenewRaisesTheFence", "NoSwapIsLost"},
		"row without owner":        {"FencedRefusesAnotherOwner"},
		"meta without epoch":       {"AnotherLayoutIsRefused"},
		"refuses conflicts":        {"EqualSwapsAtOnceAllCount"},
		"replicas":                 {"EveryHandleSeesAWriteAtOnce"},
		"vanishes while swapped":   {"ListDuringSwapsLacksNoRow"},
		"compares floats":          {"LargestNumbersAreComparedExactly"},
		"compares meta floats":     {"LargestNumbersAreComparedExactly"},
		"meta counts changes":      {"SwapThatChangesOnlyTheExpiryCounts"},
		"changes bad texts":        {"TextIsKeptWholeOrRefused"},
		"changes bad meta texts":   {"TextIsKeptWholeOrRefused"},
		"two clocks":               {"StoresClockSetsTheExpiry"},
		"expired by another clock": {"ExpiredReturnsExpiredRowsAlone"},
		"lists itself alone":       {"NamespacesAreListed", "OneOfTheNamespacesThatLookAlikeAtOnceWins"},
		"row makes a namespace":    {"NamespacesAreListed"},
		"lists cleared":            {"NamespacesAreListed"},
		"names to 4":               {"EveryAllowedNameIsANamespaceOfItsOwn"},
		"takes any name":           {"NamesThatAreNotAllowedAreRefused"},
		"takes twins":              {"NamespacesThatLookAlikeAreRefused"},
		"takes no twin at all":     {"OneOfTheNamespacesThatLookAlikeAtOnceWins"},
		"free rows overwrite":      {"FreeRowsAreCreatedAtOnce"},
		"free rows are held":       {"FreeRowsAreCreatedAtOnce"},
		"deletes nothing":          {"DeletedRowEndsItsLease"},
		"clears no meta":           {"RecreatedNamespaceEndsItsLeases"},
		"never lowers":             {"StoreThatWentBackIsNoticed"},
		"one namespace":            {"NamespacesAreApart"},
		"never down":               {"StoreDownAtStartIsAnError", "OutageWithinTheWindowIsBridged", "OutageBeyondTheLeaseCostsNoRowUnlessLossy"},
		"hangs when down":          {"OutageWithinTheWindowIsBridged"},
		"forgets when down":        {"OutageWithinTheWindowIsBridged", "OutageBeyondTheLeaseCostsNoRowUnlessLossy"},
		"lossy, deletes free rows": {"ReleasedWorkerIsReusedAboveItsFence"},
		"lossy, never expires":     {"ExpiredWorkerIsReusedAboveItsFence"},
		"lossy, as it begins":      {"StatusIsStable", "LossyStoreQuarantinesEveryLease", "LossyGrantFollowsTheStoresClock", "LossyLeaseEndsAWindowAndAHalfAfterItsRenewal"},
	})
}

func TestBrokenStore(t *testing.T) {
	fault := os.Getenv(brokenEnv)
	if fault == "" {
		t.Skip("run by TestStoreSuiteCatchesEveryFault")
	}
	fault, lossy := strings.CutPrefix(fault, "lossy, ")
	runMemory(t, fault, lossy)
}

func runMemory(t *testing.T, fault string, lossy bool) {
	assignertest.RunStore(t, func(*testing.T) assignertest.StoreFixture {
		h := &memories{fault: fault, lossy: lossy, byName: make(map[string]*memory)}
		shared := h.open("mine")
		b := assignertest.StoreFixture{
			Handle: func() assigner.Store { return shared },
			Other:  func(name string) assigner.Store { return h.open(name) },
			Delete: shared.delete,
			Clear:  shared.clear,
			Down:   shared.takeDown,
		}
		switch fault {
		case "not shared":
			handles := 0
			b.Handle = func() assigner.Store { handles++; return h.open(fmt.Sprint("mine-", handles)) }
		case "one namespace":
			b.Other = func(string) assigner.Store { return shared }
		case "replicas":
			b.Handle = func() assigner.Store { return &replica{memory: shared, seen: make(map[int64]assigner.Row)} }
		case "free rows", "free rows overwrite", "free rows are held":
			b.Handle = func() assigner.Store { return creator{shared} }
		}
		return b
	})
}

// A memory is a namespace in memory with at most one fault.
type memory struct {
	fault string
	lossy bool
	born  time.Time
	name  string
	all   *memories

	mu    sync.Mutex
	looks int
	hung  int
	down  bool
	meta  assigner.Meta
	rows  map[int64]assigner.Row
	last  assigner.Row // before the last swap; the fault "reads lag" returns it
	swaps int
}

var errDown = errors.New("the memory is down")

// enter locks the memory unless the context has ended or it is down.
func (m *memory) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil && m.fault != "ignores context" {
		return err
	}
	if err := assigner.CheckNamespace(m.name); err != nil && m.fault != "takes any name" {
		return err
	}
	m.mu.Lock()
	if !m.down {
		return nil
	}
	m.hung++
	first := m.hung == 1
	m.mu.Unlock()
	if first && m.fault == "hangs when down" {
		<-time.After(6 * time.Second)
	}
	return errDown
}

func (m *memory) takeDown(*testing.T) (up func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = m.fault != "never down"
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.down = false
		if m.fault == "forgets when down" {
			clear(m.rows)
		}
	}
}

func (m *memory) delete(_ *testing.T, workerID int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fault != "deletes nothing" {
		delete(m.rows, workerID)
	}
}

func (m *memory) clear(*testing.T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.rows)
	if m.fault != "clears no meta" && m.fault != "lists cleared" {
		m.meta = assigner.Meta{}
	}
}

func (m *memory) Status(ctx context.Context) (s assigner.Status, err error) {
	if err := m.enter(ctx); err != nil {
		return s, err
	}
	defer m.mu.Unlock()
	m.looks++
	s = assigner.Status{Now: time.Now(), Identity: "memory", Lossy: m.lossy}
	switch m.fault {
	case "as it begins":
		s.Lossy = m.looks == 1
	case "clock off":
		s.Now = s.Now.Add(-time.Hour)
	case "identity changes":
		s.Identity = fmt.Sprint(m.looks)
	case "undurable":
		s.Faults = []string{"it is a memory"}
	case "seen an hour ago":
		s.Seen = s.Now.Add(-time.Hour)
	case "seen ahead":
		s.Seen = s.Now.Add(time.Minute)
	case "seen goes back":
		s.Seen = m.born.Add(-time.Duration(m.looks))
	case "seen once":
		if m.looks == 1 {
			s.Seen = s.Now
		}
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
	match := m.meta.Version == old.Version && (m.meta.Token == old.Token || m.fault == "meta blind to token")
	if m.fault == "compares meta floats" {
		match = float64(m.meta.Version) == float64(old.Version) && m.meta.Token == old.Token
	}
	if !match && !blind || m.fault == "meta counts changes" && old == next {
		return false, nil
	}
	if err := m.all.claim(m.name); err != nil {
		return false, err
	}
	switch m.fault {
	case "changes bad meta texts":
		next.Identity = strings.ToValidUTF8(next.Identity, "?")
	case "meta without fence":
		next.Fence = 0
	case "meta without epoch":
		next.Epoch = time.Time{}
	case "meta without token":
		next.Token = ""
	case "meta without identity":
		next.Identity = ""
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
	if m.fault == "reads lag" && m.last.WorkerID == workerID {
		row = m.last
	}
	if !ok && m.fault == "row for none" {
		row.WorkerID = workerID
	}
	return row, nil
}

func (m *memory) Expired(ctx context.Context, n int) ([]assigner.Row, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	rows := slices.Collect(maps.Values(m.rows))
	now := time.Now()
	if m.fault == "expired by another clock" {
		now = now.Add(time.Minute)
	}
	rows = slices.DeleteFunc(rows, func(r assigner.Row) bool { return r.Expires.After(now) != (m.fault == "expired are held") })
	if m.fault == "expired without bound" {
		return rows, nil
	}
	return rows[:min(n, len(rows))], nil
}

func (m *memory) List(ctx context.Context) ([]assigner.Row, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	rows := slices.Collect(maps.Values(m.rows))
	switch {
	case m.fault == "lists held":
		rows = slices.DeleteFunc(rows, func(r assigner.Row) bool { return r.WorkerID > 0 })
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
	if m.fault == "acknowledges renewals" && exists && next.Token == found.Token {
		return true, nil
	}
	if m.fault == "refuses conflicts" {
		swaps := m.swaps
		m.sleep()
		if swaps != m.swaps {
			return false, nil
		}
	}
	if m.fault == "vanishes while swapped" && exists {
		delete(m.rows, next.WorkerID)
		m.sleep()
	}
	m.swaps++
	m.last = found
	m.write(next, ttl)
	return true, nil
}

// sleep lets other callers in.
func (m *memory) sleep() {
	m.mu.Unlock()
	<-time.After(time.Millisecond)
	m.mu.Lock()
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
	if m.fault == "compares floats" {
		return float64(found.Version) == float64(old.Version) && float64(found.Fence) == float64(old.Fence) && a == b
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
	case "never lowers":
		next.Fence = max(next.Fence, m.rows[next.WorkerID].Fence)
	case "row without owner":
		next.Owner = ""
	case "row without identity":
		next.Identity = ""
	case "truncates":
		next.Owner = next.Owner[:min(len(next.Owner), 64)]
	case "two clocks":
		expires = expires.Add(10 * time.Second)
	case "changes bad texts":
		next.Holder = strings.ToValidUTF8(next.Holder, "?")
	case "latin":
		next.Owner = strings.ReplaceAll(next.Owner, "🦫", "?")
	}
	next.Expires = expires
	m.rows[next.WorkerID] = next
	if next.Token == "" && m.fault == "deletes free rows" {
		delete(m.rows, next.WorkerID)
	}
}
