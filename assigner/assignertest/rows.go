package assignertest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
)

// rowCases check single operations.
func rowCases() []storeCase {
	return []storeCase{
		{"StatusIsStable", statusStable},
		{"NothingIsThereAtFirst", nothingAtFirst},
		{"MetaIsCreatedOnce", metaCreatedOnce},
		{"MetaIsSwappedByVersionAndToken", metaSwapped},
		{"RowIsCreatedOnce", rowCreatedOnce},
		{"RowComesBackAsWritten", rowAsWritten},
		{"SwapIsRefusedUnlessAllMatches", swapRefused},
		{"StoresClockSetsTheExpiry", expiry},
		{"ListReturnsAllRows", listAll},
		{"ExpiredReturnsExpiredRowsAlone", expiredAlone},
		{"SeenIsTheTimeOfTheLastWrite", seenFollowsWrites},
		{"EndedContextChangesNothing", endedChangesNothing},
	}
}

func statusStable(t *testing.T, n namespace) {
	first := status(t, n.Handle())
	if skew := time.Since(first.Now); skew.Abs() > time.Minute {
		t.Errorf("clock %v, which is %v behind this host's; allowed: 1m", first.Now, skew)
	}
	if len(first.Faults) > 0 {
		t.Errorf("faults %q, want a durable store", first.Faults)
	}
	s := n.Handle()
	swap(t, s, assigner.Row{}, sampleRow(0), time.Hour)
	second := status(t, s)
	if second.Identity != first.Identity || second.Lossy != first.Lossy {
		t.Errorf("identity %q, lossy %v; then %q, %v", first.Identity, first.Lossy, second.Identity, second.Lossy)
	}
	if second.Now.Before(first.Now) {
		t.Errorf("clock %v, then %v", first.Now, second.Now)
	}
}

func nothingAtFirst(t *testing.T, n namespace) {
	s := n.Handle()
	if m := loadMeta(t, s); m != (assigner.Meta{}) {
		t.Errorf("meta %+v, want the zero one", m)
	}
	for _, w := range []int64{0, 1, 131071} {
		if r := load(t, s, w); r != (assigner.Row{}) {
			t.Errorf("row %d is %+v, want the zero one", w, r)
		}
		if swap(t, s, sampleRow(w), sampleRow(w), time.Hour) {
			t.Errorf("a swap of row %d, which does not exist, took effect", w)
		}
	}
	if swapMeta(t, s, sampleMeta(), sampleMeta()) {
		t.Error("a swap of a meta row that does not exist took effect")
	}
	if rows := list(t, s); len(rows) > 0 {
		t.Errorf("rows %+v, want none", rows)
	}
	if m := loadMeta(t, s); m != (assigner.Meta{}) {
		t.Errorf("meta %+v after a refused swap, want the zero one", m)
	}
}

func metaCreatedOnce(t *testing.T, n namespace) {
	metas := make([]assigner.Meta, 8)
	for i := range metas {
		metas[i] = sampleMeta()
		metas[i].Namespace = fmt.Sprintf("namespace-%d", i)
	}
	winner := race(t, len(metas), n.Handle, func(s assigner.Store, i int) bool {
		return swapMeta(t, s, assigner.Meta{}, metas[i])
	})
	if got := loadMeta(t, n.Handle()); got != metas[winner] {
		t.Errorf("meta %+v, want the winner's %+v", got, metas[winner])
	}
}

func metaSwapped(t *testing.T, n namespace) {
	s, other := n.Handle(), n.Handle()
	first := sampleMeta()
	createMeta(t, s, first)
	next := first
	next.Version, next.Token, next.NextWorkerID = first.Version+1, "another", math.MaxInt64-1
	if !swapMeta(t, other, first, next) {
		t.Error("a swap from the present version and token was refused")
	}
	strange := next
	strange.Token = first.Token
	for name, old := range map[string]assigner.Meta{"an earlier version": first, "no row": {}, "another token": strange} {
		if swapMeta(t, s, old, first) {
			t.Errorf("a swap from %s took effect", name)
		}
		if got := loadMeta(t, s); got != next {
			t.Errorf("meta %+v after a swap from %s, want %+v", got, name, next)
		}
	}
}

func rowCreatedOnce(t *testing.T, n namespace) {
	for w, old := range []assigner.Row{{}, {WorkerID: 1}} {
		rows := make([]assigner.Row, 8)
		for i := range rows {
			rows[i] = sampleRow(int64(w))
			rows[i].Fence, rows[i].Token = int64(1000+i), fmt.Sprintf("token-%d", i)
		}
		winner := race(t, len(rows), n.Handle, func(s assigner.Store, i int) bool {
			return swap(t, s, old, rows[i], time.Hour)
		})
		wantRow(t, n.Handle(), rows[winner])
	}
}

func rowAsWritten(t *testing.T, n namespace) {
	s := n.Handle()
	long := assigner.Row{
		WorkerID: 0,
		Version:  math.MaxInt64 - 1,
		Fence:    math.MaxInt64 - 1,
		Token:    strings.Repeat("aZ09+/=_", 8),
		Owner:    "ö'\"\\%s {{}} $1 ?\t\n <b> 日本 🦫 " + strings.Repeat("é", 224) + "x ",
		Identity: strings.Repeat("0123456789", 10),
	}
	free := assigner.Row{WorkerID: 131071, Version: 1, Fence: 1}
	for _, row := range []assigner.Row{long, free} {
		create(t, s, row)
		wantRow(t, n.Handle(), row)
	}
	next := free
	next.Token, next.Owner, next.Identity, next.Fence = long.Token, long.Owner, long.Identity, long.Fence
	if !swap(t, s, free, next, time.Hour) {
		t.Error("a swap of a free row was refused")
	}
	wantRow(t, n.Handle(), next)
	wantRow(t, n.Handle(), long)
}

func swapRefused(t *testing.T, n namespace) {
	s, other := n.Handle(), n.Handle()
	row, neighbour := sampleRow(7), sampleRow(8)
	for _, r := range []assigner.Row{row, neighbour} {
		create(t, s, r)
	}
	before := load(t, s, 7)
	next := row
	next.Version, next.Fence, next.Token, next.Owner = row.Version+1, row.Fence+100, "another", "somebody else"
	for name, change := range map[string]func(*assigner.Row){
		"version below":             func(r *assigner.Row) { r.Version-- },
		"version above":             func(r *assigner.Row) { r.Version++ },
		"fence below":               func(r *assigner.Row) { r.Fence-- },
		"fence above":               func(r *assigner.Row) { r.Fence++ },
		"token":                     func(r *assigner.Row) { r.Token = "another" },
		"token in another case":     func(r *assigner.Row) { r.Token = strings.ToLower(r.Token) },
		"token with a space":        func(r *assigner.Row) { r.Token += " " },
		"no token":                  func(r *assigner.Row) { r.Token = "" },
		"no row":                    func(r *assigner.Row) { *r = assigner.Row{} },
		"no row of the same worker": func(r *assigner.Row) { *r = assigner.Row{WorkerID: r.WorkerID} },
		"version, otherwise no row": func(r *assigner.Row) { *r = assigner.Row{WorkerID: r.WorkerID, Version: r.Version} },
		"version 0":                 func(r *assigner.Row) { r.Version = 0 },
	} {
		old := row
		change(&old)
		if swap(t, other, old, next, 0) {
			t.Errorf("a swap with a wrong %s took effect", name)
		}
		if got := load(t, s, 7); !sameRow(got, before) {
			t.Fatalf("row %+v after a swap with a wrong %s, want %+v", got, name, before)
		}
	}
	// The predicate ignores the other fields.
	old := row
	old.Owner, old.Identity, old.Expires = "whoever", "whatever", time.Unix(1, 0)
	if !swap(t, other, old, next, time.Hour) {
		t.Error("a swap with the version, the fence and the token of the row was refused")
	}
	wantRow(t, s, next)
	wantRow(t, s, neighbour)
}

func expiry(t *testing.T, n namespace) {
	s, row := n.Handle(), sampleRow(5)
	old := assigner.Row{}
	for _, c := range []struct {
		ttl     time.Duration
		ignored time.Time
	}{{time.Hour, time.Unix(0, 0)}, {0, time.Now().Add(time.Hour)}, {time.Minute, time.Time{}}, {time.Second, time.Time{}}} {
		row.Expires = c.ignored
		before := status(t, s).Now
		if !swap(t, s, old, row, c.ttl) {
			t.Fatalf("a swap with ttl %v was refused", c.ttl)
		}
		after := status(t, s).Now
		got := load(t, s, 5).Expires
		// A store may round times, to a second at most.
		if earliest, latest := before.Add(c.ttl-time.Second), after.Add(c.ttl+time.Second); got.Before(earliest) || got.After(latest) {
			t.Errorf("expires at %v with ttl %v, want %v to %v", got, c.ttl, earliest, latest)
		}
		if c.ttl == 0 && got.After(after) {
			t.Errorf("expires at %v with ttl 0, but the store's clock says %v", got, after)
		}
		old = row
	}
}

func listAll(t *testing.T, n namespace) {
	s := n.Handle()
	want := make(map[int64]assigner.Row)
	for i := range int64(25) {
		row := sampleRow(i * i * 100)
		row.Fence += i
		create(t, s, row)
		want[row.WorkerID] = row
	}
	swapMeta(t, s, assigner.Meta{}, sampleMeta())
	other := n.Handle()
	for _, got := range list(t, other) {
		row, ok := want[got.WorkerID]
		delete(want, got.WorkerID)
		if loaded := load(t, other, got.WorkerID); !ok || !sameRow(got, loaded) {
			t.Errorf("List has %+v, Load has %+v, known and not seen before: %v", got, loaded, ok)
		}
		got.Expires = row.Expires
		if got != row {
			t.Errorf("List has %+v, want %+v", got, row)
		}
	}
	for w := range want {
		t.Errorf("List lacks row %d", w)
	}
}

func expiredAlone(t *testing.T, n namespace) {
	s := n.Handle()
	if rows := expired(t, s, 10); len(rows) > 0 {
		t.Errorf("rows %+v, want none", rows)
	}
	const pairs, soon = 12, 30 * time.Second
	want := make(map[int64]bool)
	for i := range int64(pairs) {
		held, free := sampleRow(i*1000), sampleRow(i*1000+1)
		if !swap(t, s, assigner.Row{}, held, []time.Duration{time.Hour, soon}[i%2]) ||
			!swap(t, s, assigner.Row{}, free, []time.Duration{0, -soon}[i%2]) {
			t.Fatalf("rows %d and %d were not created", held.WorkerID, free.WorkerID)
		}
		want[free.WorkerID] = true
	}
	for _, most := range []int{1, 5, pairs, 1000} {
		seen := make(map[int64]bool)
		for _, row := range expired(t, n.Handle(), most) {
			late := !row.Expires.After(status(t, s).Now) // by the clock of Status
			if !want[row.WorkerID] && !late || seen[row.WorkerID] {
				t.Errorf("Expired(%d) has row %d, expired: %v, seen before: %v", most, row.WorkerID, want[row.WorkerID], seen[row.WorkerID])
			}
			seen[row.WorkerID] = true
			if loaded := load(t, s, row.WorkerID); !sameRow(row, loaded) {
				t.Errorf("Expired(%d) has %+v, Load has %+v", most, row, loaded)
			}
		}
		if len(seen) < min(most, pairs) || len(seen) > most {
			t.Errorf("Expired(%d) has %d rows, want %d", most, len(seen), min(most, pairs))
		}
	}
}

// seenFollowsWrites checks Status.Seen: a store without a clock returns the time of the last write,
// and a store with a clock returns zero, always. A store may round Seen to a second.
func seenFollowsWrites(t *testing.T, n namespace) {
	writer, reader := n.Handle(), n.Handle()
	first, second, meta := sampleRow(1), sampleRow(2), sampleMeta()
	var last time.Time
	for i, write := range []func() bool{
		func() bool { return swap(t, writer, assigner.Row{}, first, time.Hour) },
		func() bool { return swap(t, writer, assigner.Row{}, second, time.Hour) },
		func() bool { return swapMeta(t, writer, assigner.Meta{}, meta) },
		func() bool { return swap(t, writer, first, first, time.Minute) },
		func() bool { return swapMeta(t, writer, meta, meta) },
	} {
		begin := time.Now()
		if !write() {
			t.Fatalf("write %d was refused", i)
		}
		st := status(t, reader)
		earliest, latest := begin.Add(-time.Second), st.Now.Add(time.Second)
		switch {
		case i > 0 && st.Seen.IsZero() != last.IsZero():
			t.Errorf("write %d: Seen is %v, before it was %v; want zero always or never", i, st.Seen, last)
		case st.Seen.IsZero():
		case st.Seen.Before(earliest) || st.Seen.After(latest):
			t.Errorf("write %d: Seen is %v, want %v to %v", i, st.Seen, earliest, latest)
		case st.Seen.Before(last):
			t.Errorf("write %d: Seen is %v, before it was %v; want the same or later", i, st.Seen, last)
		}
		last = st.Seen
	}
}

func endedChangesNothing(t *testing.T, n namespace) {
	s := n.Handle()
	row, meta := sampleRow(2), sampleMeta()
	create(t, s, row)
	createMeta(t, s, meta)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, f := range everyCall(s, row, meta) {
		if ok, err := f(ctx); ok || !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a cancelled context: %v, %v; want context.Canceled", name, ok, err)
		}
	}
	wantRow(t, s, row)
	wantMeta(t, s, meta)
	if got := load(t, s, 3); got != (assigner.Row{}) {
		t.Errorf("row %+v was created", got)
	}
}

// everyCall returns a call of each method of a store. The swaps start from row and meta.
func everyCall(s assigner.Store, row assigner.Row, meta assigner.Meta) map[string]func(context.Context) (swapped bool, err error) {
	next, nextMeta := row, meta
	next.Fence, next.Token = row.Fence+1, "another"
	nextMeta.Version++
	calls := map[string]func(context.Context) (bool, error){
		"Status":   func(ctx context.Context) (bool, error) { _, err := s.Status(ctx); return false, err },
		"LoadMeta": func(ctx context.Context) (bool, error) { _, err := s.LoadMeta(ctx); return false, err },
		"SwapMeta": func(ctx context.Context) (bool, error) { return s.SwapMeta(ctx, meta, nextMeta) },
		"Load":     func(ctx context.Context) (bool, error) { _, err := s.Load(ctx, 2); return false, err },
		"List":     func(ctx context.Context) (bool, error) { _, err := s.List(ctx); return false, err },
		"Expired":  func(ctx context.Context) (bool, error) { _, err := s.Expired(ctx, 1); return false, err },
		"Swap":     func(ctx context.Context) (bool, error) { return s.Swap(ctx, row, next, time.Hour) },
		"creation": func(ctx context.Context) (bool, error) { return s.Swap(ctx, assigner.Row{}, sampleRow(3), time.Hour) },
	}
	if named, ok := s.(assigner.Namespaced); ok {
		calls["Namespaces"] = func(ctx context.Context) (bool, error) { _, err := named.Namespaces(ctx); return false, err }
	}
	return calls
}
