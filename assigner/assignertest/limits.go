package assignertest

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
)

// limitCases check the largest values of each field, and larger ones.
func limitCases() []storeCase {
	return []storeCase{
		{"SwapThatChangesOnlyTheExpiryCounts", swapSame},
		{"LargestNumbersAreComparedExactly", largestCompared},
		{"TextIsKeptWholeOrRefused", textWhole},
	}
}

// largest returns a row and a meta row with the largest numbers and the longest texts that a store
// must keep.
func largest() (assigner.Row, assigner.Meta) {
	token, identity := strings.Repeat("T", 64), strings.Repeat("é", 128)
	return assigner.Row{WorkerID: math.MaxInt64, Version: math.MaxInt64, Fence: math.MaxInt64, Token: token,
			Owner: "業務 ☃ 🦫" + strings.Repeat("é", 249), Holder: strings.Repeat("☃", 255), Identity: identity},
		assigner.Meta{Version: math.MaxInt64, Namespace: token, NextWorkerID: math.MaxInt64, DatacenterID: math.MaxInt64,
			FirstWorkerID: math.MaxInt64, Fence: math.MaxInt64, Token: token, Identity: identity,
			Epoch: time.UnixMilli(1).UTC()}
}

// swapSame swaps rows for equal ones: a database may count a row as changed only when its values
// differ.
func swapSame(t *testing.T, n namespace) {
	s := n.Handle()
	row, meta := largest()
	rows, oldMeta := []assigner.Row{sampleRow(3), row}, assigner.Meta{}
	for i := range 30 {
		for _, row := range rows {
			old := row
			if i == 0 {
				old = assigner.Row{}
			}
			if !swap(t, s, old, row, time.Hour) {
				t.Fatalf("swap %d of row %d for its like was refused", i, row.WorkerID)
			}
		}
		if !swapMeta(t, s, oldMeta, meta) {
			t.Fatalf("swap %d of the meta row for its like was refused", i)
		}
		oldMeta = meta
	}
	for _, row := range rows {
		wantRow(t, n.Handle(), row)
	}
	wantMeta(t, n.Handle(), meta)
}

// largestCompared checks numbers that floating-point numbers cannot tell apart.
func largestCompared(t *testing.T, n namespace) {
	s := n.Handle()
	row, meta := largest()
	row.Version, row.Fence, meta.Version = math.MaxInt64-1, math.MaxInt64-1, math.MaxInt64-1
	create(t, s, row)
	createMeta(t, s, meta)
	next, nextMeta := row, meta
	next.Fence, nextMeta.Version = math.MaxInt64, math.MaxInt64
	for _, wrong := range []assigner.Row{
		{Version: row.Version - 1, Fence: row.Fence}, {Version: row.Version + 1, Fence: row.Fence},
		{Version: row.Version, Fence: row.Fence - 1}, {Version: row.Version, Fence: row.Fence + 1},
	} {
		wrong.WorkerID, wrong.Token = row.WorkerID, row.Token
		if swap(t, s, wrong, next, time.Hour) {
			t.Errorf("a swap from %+v took effect, the row is %+v", wrong, row)
		}
	}
	for _, version := range []int64{meta.Version - 1, meta.Version + 1} {
		wrong := meta
		wrong.Version = version
		if swapMeta(t, s, wrong, nextMeta) {
			t.Errorf("a swap of the meta row from version %d took effect, its version is %d", version, meta.Version)
		}
	}
	if !swap(t, s, row, next, time.Hour) || !swapMeta(t, s, meta, nextMeta) {
		t.Error("a swap with the largest numbers was refused")
	}
	wantRow(t, s, next)
	wantMeta(t, s, nextMeta)
}

// textWhole writes texts that are too long for some stores, or are not UTF-8. A store that changes
// a text could make two owners or two tokens equal.
func textWhole(t *testing.T, n namespace) {
	s, row, meta := n.Handle(), sampleRow(12), sampleMeta()
	create(t, s, row)
	createMeta(t, s, meta)
	texts := []string{"\xff", "a\xffb", "\xc3", "a\x00b", "T ", "é", strings.Repeat("x", 65), strings.Repeat("x", 129), strings.Repeat("é", 300)}
	for _, field := range []func(*assigner.Row) *string{
		func(r *assigner.Row) *string { return &r.Token }, func(r *assigner.Row) *string { return &r.Owner },
		func(r *assigner.Row) *string { return &r.Holder }, func(r *assigner.Row) *string { return &r.Identity },
	} {
		for _, text := range texts {
			next := row
			*field(&next) = text
			ok, err := s.Swap(t.Context(), row, next, time.Hour)
			if keptOrRefused(t, text, ok, err) {
				row = next
			}
			if wantRow(t, n.Handle(), row); t.Failed() {
				return
			}
		}
	}
	for _, field := range []func(*assigner.Meta) *string{
		func(m *assigner.Meta) *string { return &m.Namespace }, func(m *assigner.Meta) *string { return &m.Token },
		func(m *assigner.Meta) *string { return &m.Identity },
	} {
		for _, text := range texts {
			next := meta
			*field(&next) = text
			ok, err := s.SwapMeta(t.Context(), meta, next)
			if keptOrRefused(t, text, ok, err) {
				meta = next
			}
			if got := loadMeta(t, n.Handle()); got != meta {
				t.Fatalf("meta %+v, want %+v", got, meta)
			}
		}
	}
}

// keptOrRefused reports whether a swap with a text took effect, and checks the error otherwise.
func keptOrRefused(t *testing.T, text string, ok bool, err error) bool {
	t.Helper()
	if ok != (err == nil) || err != nil && !strings.Contains(err.Error(), "allowed") {
		t.Errorf("a swap with the text %q: %v, %v; want true, or an error that names the allowed text", text, ok, err)
	}
	return ok
}
