package assignertest

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
)

func statusStable(t *testing.T, n namespace) {
	s := n.Handle()
	first := status(t, s)
	if skew := time.Since(first.Now); skew.Abs() > time.Minute {
		t.Errorf("clock %v, which is %v behind this host's; allowed: 1m", first.Now, skew)
	}
	if len(first.Faults) > 0 {
		t.Errorf("faults %q, want a durable store", first.Faults)
	}
	create(t, s, sampleRow(0))
	second := status(t, s)
	if second.Identity != first.Identity || second.Lossy != first.Lossy || second.Now.Before(first.Now) ||
		second.Store == "" || second.Store != first.Store || second.Namespace != first.Namespace {
		t.Errorf("status %+v, then %+v", first, second)
	}
}

func nothingAtFirst(t *testing.T, n namespace) {
	s := n.Handle()
	nothing := func() {
		t.Helper()
		wantMeta(t, s, leasestore.Meta{})
		for _, w := range []int64{0, 1, 131071} {
			if r := load(t, s, w); r != (leasestore.Row{}) {
				t.Errorf("row %d is %+v, want the zero one", w, r)
			}
		}
		if rows := slices.Concat(list(t, s), expired(t, s, 10)); len(rows) > 0 {
			t.Errorf("rows %+v, want none", rows)
		}
	}
	nothing()
	if swap(t, s, sampleRow(1), sampleRow(1), time.Hour) || swapMeta(t, s, sampleMeta(), sampleMeta()) {
		t.Error("a swap of a row that does not exist took effect")
	}
	nothing()
}

// rowsAsWritten writes the largest numbers and the longest texts that a store must keep, and swaps
// all rows for equal ones: a database may count a row as changed only when its values differ.
func rowsAsWritten(t *testing.T, n namespace) {
	s := n.Handle()
	token, identity := strings.Repeat("aZ09+/=_", 8), strings.Repeat("é", 128)
	extra := strings.Repeat("<é☃\n\"", 124) + "1234567 " // 1,000 bytes
	rows := []leasestore.Row{
		sampleRow(0),
		{WorkerID: 131071, Version: 1, Fence: 1}, // free
		{WorkerID: math.MaxInt64, Version: math.MaxInt64, Fence: math.MaxInt64, Oldest: math.MaxInt64, Former: math.MaxInt64, Token: token, Holder: strings.Repeat("☃", 255),
			Owner: "ö'\"\\%s {{}} $1 ?\t\n <b> 日本 🦫 " + strings.Repeat("é", 224) + "x ", Identity: identity, Extra: extra},
	}
	meta := leasestore.Meta{Version: math.MaxInt64, Namespace: token, NextWorkerID: math.MaxInt64, DatacenterID: math.MaxInt64,
		FirstWorkerID: math.MaxInt64, Fence: math.MaxInt64, Horizon: math.MaxInt64, Token: token, Identity: identity, Extra: extra, Epoch: time.UnixMilli(1).UTC()}
	for _, row := range rows {
		create(t, s, row)
	}
	createMeta(t, s, meta)
	for i := range 10 {
		for _, row := range rows {
			if !swap(t, s, row, row, time.Hour) {
				t.Fatalf("swap %d of row %d for its like was refused", i, row.WorkerID)
			}
		}
		if !swapMeta(t, s, meta, meta) {
			t.Fatalf("swap %d of the meta row for its like was refused", i)
		}
	}
	for _, row := range rows {
		wantRow(t, n.Handle(), row)
	}
	wantMeta(t, n.Handle(), meta)
}

func metaSwapped(t *testing.T, n namespace) {
	s, first := n.Handle(), sampleMeta()
	first.Version = math.MaxInt64 - 1 // floating-point numbers cannot tell its neighbors apart
	createMeta(t, s, first)
	next, below, strange := first, first, first
	next.Version, next.Token, next.NextWorkerID = math.MaxInt64, "another", math.MaxInt64-1
	below.Version, strange.Token = first.Version-1, next.Token
	for name, old := range map[string]leasestore.Meta{"another version": below, "no row": {}, "another token": strange} {
		if swapMeta(t, s, old, next) {
			t.Errorf("a swap from %s took effect", name)
		}
		wantMeta(t, n.Handle(), first)
	}
	if !swapMeta(t, s, first, next) {
		t.Error("a swap from the present version and token was refused")
	}
	wantMeta(t, n.Handle(), next)
}

func swapRefused(t *testing.T, n namespace) {
	s, other := n.Handle(), n.Handle()
	row, neighbor := sampleRow(7), sampleRow(8)
	row.Version, row.Fence = math.MaxInt64-1, math.MaxInt64-1 // floating-point numbers cannot tell their neighbors apart
	create(t, s, row)
	create(t, s, neighbor)
	before := load(t, s, 7)
	next := row
	next.Version, next.Fence, next.Token, next.Owner = math.MaxInt64, math.MaxInt64, "another", "another owner"
	for name, change := range map[string]func(*leasestore.Row){
		"version below":         func(r *leasestore.Row) { r.Version-- },
		"version above":         func(r *leasestore.Row) { r.Version++ },
		"fence below":           func(r *leasestore.Row) { r.Fence-- },
		"fence above":           func(r *leasestore.Row) { r.Fence++ },
		"token in another case": func(r *leasestore.Row) { r.Token = strings.ToLower(r.Token) },
		"token with a space":    func(r *leasestore.Row) { r.Token += " " },
		"no token":              func(r *leasestore.Row) { r.Token = "" },
		"no row":                func(r *leasestore.Row) { *r = leasestore.Row{} },
		"version alone":         func(r *leasestore.Row) { *r = leasestore.Row{WorkerID: r.WorkerID, Version: r.Version} },
		"version 0":             func(r *leasestore.Row) { r.Version = 0 },
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
	wantRow(t, s, neighbor)
}

func expiry(t *testing.T, n namespace) {
	s, row := n.Handle(), sampleRow(5)
	old := leasestore.Row{}
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

// listed creates pairs of rows, of which one has expired. List returns all of them, and Expired as
// many expired ones as the caller asks for.
func listed(t *testing.T, n namespace) {
	s, other := n.Handle(), n.Handle()
	const pairs, soon = 12, 2 * time.Minute
	for i := range int64(pairs) {
		held, late := sampleRow(i*1000), sampleRow(i*1000+1)
		if !swap(t, s, leasestore.Row{}, held, []time.Duration{time.Hour, soon}[i%2]) ||
			!swap(t, s, leasestore.Row{}, late, []time.Duration{0, -soon}[i%2]) {
			t.Fatalf("rows %d and %d were not created", held.WorkerID, late.WorkerID)
		}
	}
	createMeta(t, s, sampleMeta())
	distinct := func(name string, rows []leasestore.Row) int {
		seen := make(map[int64]bool)
		for _, row := range rows {
			if loaded := load(t, other, row.WorkerID); !sameRow(row, loaded) || seen[row.WorkerID] {
				t.Errorf("%s has %+v, Load has %+v, seen before: %v", name, row, loaded, seen[row.WorkerID])
			}
			seen[row.WorkerID] = true
		}
		return len(seen)
	}
	if got := distinct("List", list(t, other)); got != 2*pairs {
		t.Errorf("List has %d rows, want %d", got, 2*pairs)
	}
	for _, most := range []int{1, 5, pairs, 1000} {
		rows := expired(t, other, most)
		if got := distinct("Expired", rows); got != min(most, pairs) {
			t.Errorf("Expired(%d) has %d rows, want %d", most, got, min(most, pairs))
		}
		for _, row := range rows {
			if row.WorkerID%1000 == 0 {
				t.Errorf("Expired(%d) has row %+v, which has not expired", most, row)
			}
		}
	}
}

// seenFollowsWrites checks Status.Seen: a store without a clock returns the time of the last write,
// and a store with a clock returns zero, always. A store may round Seen to a second.
func seenFollowsWrites(t *testing.T, n namespace) {
	writer, reader := n.Handle(), n.Handle()
	row, meta := sampleRow(1), sampleMeta()
	var last leasestore.Status
	for i, write := range []func() bool{
		func() bool { return swap(t, writer, leasestore.Row{}, row, time.Hour) },
		func() bool { return swapMeta(t, writer, leasestore.Meta{}, meta) },
		func() bool { return swap(t, writer, row, row, time.Minute) },
		func() bool { return swapMeta(t, writer, meta, meta) },
	} {
		begin := time.Now()
		if !write() {
			t.Fatalf("write %d was refused", i)
		}
		st := status(t, reader)
		late := st.Seen.Before(begin.Add(-time.Second)) || st.Seen.After(st.Now.Add(time.Second)) || st.Seen.Before(last.Seen)
		if i > 0 && st.Seen.IsZero() != last.Seen.IsZero() || !st.Seen.IsZero() && late {
			t.Errorf("write %d at %v: Seen is %v, before it was %v; want the time of the write, or zero always", i, begin, st.Seen, last.Seen)
		}
		last = st
	}
}

// textWhole writes texts that are too long for some stores, or are not UTF-8. A store that changes
// a text could make two owners or two tokens equal.
func textWhole(t *testing.T, n namespace) {
	s, row, meta := n.Handle(), sampleRow(12), sampleMeta()
	create(t, s, row)
	createMeta(t, s, meta)
	reader := n.Handle()
	nextRow, nextMeta := row, meta
	for _, field := range []*string{&nextRow.Token, &nextRow.Owner, &nextRow.Holder, &nextRow.Identity, &nextRow.Extra, &nextMeta.Namespace, &nextMeta.Token, &nextMeta.Identity, &nextMeta.Extra} {
		for _, text := range []string{"\xff", "a\xffb", "\xc3", "a\x00b", "T ", "é", strings.Repeat("x", 65), strings.Repeat("x", 129), strings.Repeat("é", 300)} {
			*field = text
			var ok bool
			var err error
			if nextRow != row {
				ok, err = s.Swap(t.Context(), row, nextRow, time.Hour)
			} else {
				ok, err = s.SwapMeta(t.Context(), meta, nextMeta)
			}
			if ok != (err == nil) || err != nil && !strings.Contains(err.Error(), "allowed") {
				t.Fatalf("a swap with the text %q: %v, %v; want true, or an error that names the allowed text", text, ok, err)
			}
			if ok {
				row, meta = nextRow, nextMeta
			}
			nextRow, nextMeta = row, meta
			wantRow(t, reader, row)
			wantMeta(t, reader, meta)
		}
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
	if got := load(t, s, 3); got != (leasestore.Row{}) {
		t.Errorf("row %+v was created", got)
	}
}

// everyCall returns a call of each method of a store. The swaps start from row and meta.
func everyCall(s leasestore.Store, row leasestore.Row, meta leasestore.Meta) map[string]func(context.Context) (swapped bool, err error) {
	next, nextMeta := row, meta
	next.Fence, next.Token = row.Fence+1, "another"
	nextMeta.Version++
	return map[string]func(context.Context) (bool, error){
		"Status":   func(ctx context.Context) (bool, error) { _, err := s.Status(ctx); return false, err },
		"LoadMeta": func(ctx context.Context) (bool, error) { _, err := s.LoadMeta(ctx); return false, err },
		"SwapMeta": func(ctx context.Context) (bool, error) { return s.SwapMeta(ctx, meta, nextMeta) },
		"Load":     func(ctx context.Context) (bool, error) { _, err := s.Load(ctx, 2); return false, err },
		"List":     func(ctx context.Context) (bool, error) { _, err := s.List(ctx); return false, err },
		"Expired":  func(ctx context.Context) (bool, error) { _, err := s.Expired(ctx, 1); return false, err },
		"Swap":     func(ctx context.Context) (bool, error) { return s.Swap(ctx, row, next, time.Hour) },
		"CreateFree": func(ctx context.Context) (bool, error) {
			return s.CreateFree(ctx, []leasestore.Row{sampleRow(3)}, time.Hour)
		},
		"Namespaces": func(ctx context.Context) (bool, error) { _, err := s.Namespaces(ctx); return false, err },
		"creation":   func(ctx context.Context) (bool, error) { return s.Swap(ctx, leasestore.Row{}, sampleRow(3), time.Hour) },
	}
}
