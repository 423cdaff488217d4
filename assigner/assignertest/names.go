package assignertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/together"
)

// nameCases check stores that hold several namespaces or create rows in bulk.
func nameCases() []storeCase {
	return []storeCase{
		{"NamespacesAreApart", namespacesApart},
		{"EveryAllowedNameIsANamespaceOfItsOwn", namesApart},
		{"NamesThatAreNotAllowedAreRefused", namesRefused},
		{"NamespacesThatLookAlikeAreRefused", namesAlike},
		{"OneOfTheNamespacesThatLookAlikeAtOnceWins", namesAlikeAtOnce},
		{"FreeRowsAreCreatedAtOnce", createFree},
	}
}

func namespacesApart(t *testing.T, n namespace) {
	if n.Other == nil {
		t.Skip("the store has one namespace")
	}
	mine, other := n.Handle(), n.Other("another")
	row, theirs := sampleRow(1), sampleRow(1)
	theirs.Fence, theirs.Version = row.Fence+1, row.Version+1
	create(t, mine, row)
	createMeta(t, mine, sampleMeta())
	if rows, meta := list(t, other), loadMeta(t, other); len(rows) > 0 || meta != (leasestore.Meta{}) {
		t.Errorf("another namespace has rows %+v and meta %+v, want none", rows, meta)
	}
	createMeta(t, other, sampleMeta())
	if !swap(t, other, leasestore.Row{}, theirs, 0) || len(expired(t, other, 2)) != 1 {
		t.Error("the row of another namespace was not created")
	}
	if rows := expired(t, mine, 2); len(rows) > 0 {
		t.Errorf("rows %+v of another namespace", rows)
	}
	wantRow(t, mine, row)
}

// named returns the namespace as an [leasestore.Namespaced], or skips the case.
func (n namespace) named(t *testing.T) leasestore.Namespaced {
	t.Helper()
	s, ok := n.Handle().(leasestore.Namespaced)
	if !ok || n.Other == nil {
		t.Skip("the store is not an leasestore.Namespaced")
	}
	return s
}

// other opens another namespace, and checks its name.
func (n namespace) other(t *testing.T, name string) leasestore.Namespaced {
	t.Helper()
	s, ok := n.Other(name).(leasestore.Namespaced)
	if !ok || s.Namespace() != name {
		t.Fatalf("Other(%q) opened %T, want an leasestore.Namespaced of that name", name, s)
	}
	return s
}

// metaOf returns a meta row that belongs to a name alone.
func metaOf(name string) leasestore.Meta {
	m := sampleMeta()
	m.Namespace, m.DatacenterID = "N-"+name[:min(len(name), 62)], int64(len(name))
	return m
}

// wantNames checks which of some names have a namespace. A server may have others, too.
func wantNames(t *testing.T, s leasestore.Namespaced, names []string, created ...string) {
	t.Helper()
	all := call(t, "Namespaces", s.Namespaces)
	for _, name := range names {
		got, ok := all[name]
		got.Epoch = got.Epoch.UTC()
		if want := slices.Contains(created, name); ok != want || want && got != metaOf(name) {
			t.Errorf("Namespaces has %+v for %q, %v; want one: %v", got, name, ok, want)
		}
	}
}

// namesApart creates namespaces, one after the other. Each is listed from then on and keeps its own
// rows.
func namesApart(t *testing.T, n namespace) {
	own := n.named(t)
	names := []string{own.Namespace(), own.Namespace() + "-", "0.-_", "meta", "namespaces", own.Namespace() + strings.Repeat("x", 64-len(own.Namespace()))}
	for i, name := range names {
		s, row := n.other(t, name), sampleRow(0)
		row.Fence += int64(i)
		create(t, s, row)
		wantNames(t, s, names, names[:i]...) // a row alone makes no namespace
		createMeta(t, s, metaOf(name))
		wantNames(t, own, names, names[:i+1]...)
	}
	for i, name := range names {
		s := n.other(t, name)
		rows := list(t, s)
		if len(rows) != 1 || rows[0].Fence != sampleRow(0).Fence+int64(i) {
			t.Errorf("namespace %q has rows %+v, want one with fence %d", name, rows, sampleRow(0).Fence+int64(i))
		}
		wantMeta(t, s, metaOf(name))
	}
}

func namesRefused(t *testing.T, n namespace) {
	n.named(t)
	for _, name := range []string{"", strings.Repeat("x", 65), "a b", "a ", " a", "a\t", "ä", "a/b", "a\x00", "a{b}"} {
		for method, f := range everyCall(n.Other(name), sampleRow(2), sampleMeta()) {
			ctx, cancel := bounded(t)
			ok, err := f(ctx)
			cancel()
			if ok || err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q, allowed: 1 to 64 of the characters", name)) {
				t.Errorf("%s with namespace %q: %v, want the error of leasestore.CheckNamespace", method, name, err)
			}
		}
	}
}

// try calls Assign once. It reports whether a row was taken, in quarantine or not.
func (n namespace) try(t *testing.T, s leasestore.Store) (bool, error) {
	ctx, cancel := bounded(t)
	defer cancel()
	_, err := n.leasedOn(s, "").Assign(ctx, Domain())
	return err == nil || errors.Is(err, assigner.ErrQuarantined), err
}

// namesAlike checks names that differ only in letter case, which are nearly always a mistake.
func namesAlike(t *testing.T, n namespace) {
	name := n.named(t).Namespace() + "-I"
	for _, s := range []string{name, name + ".", name[:len(name)-2] + "_I"} {
		if ok, err := n.try(t, n.other(t, s)); !ok {
			t.Errorf("Assign in namespace %q: %v", s, err)
		}
	}
	meta := loadMeta(t, n.other(t, name))
	for _, alike := range []string{name[:len(name)-1] + "i", strings.ToUpper(name[:1]) + name[1:], strings.ToUpper(name)} {
		twin := n.other(t, alike)
		_, err := n.try(t, twin)
		text := fmt.Sprintf("namespace %q differs from %q", alike, name)
		if !errors.Is(err, leasestore.ErrOverlap) || !strings.Contains(err.Error(), text) {
			t.Errorf("Assign: %v, want ErrOverlap with the error of leasestore.CheckNamespaceTwin", err)
		}
		if _, ok := call(t, "Namespaces", twin.Namespaces)[alike]; ok || len(list(t, twin)) > 0 {
			t.Errorf("namespace %q was created beside %q", alike, name)
		}
	}
	wantMeta(t, n.other(t, name), meta)
}

// namesAlikeAtOnce creates namespaces that look alike at once. One gives out worker IDs, or none if
// the store has several meta rows, which people must then remove.
func namesAlikeAtOnce(t *testing.T, n namespace) {
	own := n.named(t)
	for round := range 5 {
		name := fmt.Sprint(own.Namespace(), "-twins", round)
		spellings := []string{name, strings.Replace(name, "t", "T", 1), strings.ToUpper(name), strings.Replace(name, "-tw", "-tW", 1)}
		won, errs := make([]bool, len(spellings)), make([]error, len(spellings))
		twins := make([]leasestore.Namespaced, len(spellings))
		for i, s := range spellings {
			twins[i] = n.other(t, s)
		}
		together.Run(len(twins), func(i int) { won[i], errs[i] = n.try(t, twins[i]) })
		winners, created := 0, 0
		all := call(t, "Namespaces", own.Namespaces)
		for i, s := range spellings {
			if won[i] {
				winners++
			} else if !errors.Is(errs[i], leasestore.ErrOverlap) {
				t.Errorf("Assign in namespace %q: %v, want ErrOverlap", s, errs[i])
			}
			if _, ok := all[s]; ok {
				created++
			}
		}
		if winners > 1 || winners == 0 && created < 2 {
			t.Errorf("%d of %q give out worker IDs, and %d were created; want one", winners, spellings, created)
		}
	}
}

// createFree creates rows beside a held row, which stays unchanged.
func createFree(t *testing.T, n namespace) {
	s, ok := n.Handle().(leasestore.Creator)
	if !ok {
		t.Skip("the store is not an leasestore.Creator")
	}
	held := sampleRow(3)
	create(t, s, held)
	createMeta(t, s, sampleMeta())
	before := load(t, s, held.WorkerID)
	const rows = 256
	free := make([]leasestore.Row, rows)
	for i := range free {
		free[i] = leasestore.Row{WorkerID: held.WorkerID + int64(i), Version: 1, Fence: 7, Identity: "some server"}
	}
	for _, rows := range [][]leasestore.Row{free, free, nil} {
		call(t, "CreateFree", func(ctx context.Context) (any, error) { return nil, s.CreateFree(ctx, rows, -time.Minute) })
	}
	if found := expired(t, n.Handle(), 2*rows); len(found) != rows-1 {
		t.Errorf("%d rows have expired, want %d", len(found), rows-1)
	}
	for _, row := range free[1:] {
		wantRow(t, s, row)
	}
	if after := load(t, s, held.WorkerID); !sameRow(after, before) {
		t.Errorf("row %+v, was %+v", after, before)
	}
}
