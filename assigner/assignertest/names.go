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
	"github.com/uidring/uidring/internal/test/testkit"
)

// named returns a store and the name of its namespace, or skips the case if the store has a single
// namespace.
func (n namespace) named(t *testing.T) (leasestore.Store, string) {
	t.Helper()
	s := n.Handle()
	name := status(t, s).Namespace
	if name == "" || n.Other == nil {
		t.Skip("the store has one namespace")
	}
	return s, name
}

// other opens another namespace, and checks its name.
func (n namespace) other(t *testing.T, name string) leasestore.Store {
	t.Helper()
	s := n.Other(name)
	if got := status(t, s).Namespace; got != name {
		t.Fatalf("Other(%q) opened namespace %q", name, got)
	}
	return s
}

// metaOf returns a meta row that belongs to a name alone.
func metaOf(name string) leasestore.Meta {
	m := sampleMeta()
	m.Namespace, m.DatacenterID = "N-"+name[:min(len(name), 62)], int64(len(name))
	return m
}

// namespacesApart creates namespaces, one after the other. Each has its own rows, and Namespaces
// has it from then on, under the name "" if the store has a single namespace.
func namespacesApart(t *testing.T, n namespace) {
	own := n.Handle()
	name := status(t, own).Namespace
	names := []string{"another", "a third"}
	if n.Other == nil {
		n.Other, names = func(string) leasestore.Store { return own }, names[:1]
	}
	single := name == ""
	if !single {
		names = []string{name, name + "-", "0.-_", "meta", "namespaces", name + strings.Repeat("x", 64-len(name))}
	}
	stores := make([]leasestore.Store, len(names))
	for i, name := range names {
		s, row := n.Other(name), sampleRow(0)
		stores[i] = s
		row.Fence += int64(i)
		if !swap(t, s, leasestore.Row{}, row, 0) {
			t.Fatalf("namespace %q has a row before its first", name)
		}
		lister, all, before := own, names, names[:i]
		if single {
			lister, all, before = s, []string{""}, nil
		}
		wantNames(t, lister, all, before...) // a row alone makes no namespace
		createMeta(t, s, metaOf(all[len(before)]))
		wantNames(t, lister, all, all[:len(before)+1]...)
	}
	for i, s := range stores {
		rows := slices.Concat(list(t, s), expired(t, s, 2))
		if len(rows) != 2 || rows[0].Fence != sampleRow(0).Fence+int64(i) || rows[1].Fence != rows[0].Fence {
			t.Errorf("namespace %q has rows %+v, want one with fence %d", names[i], rows, sampleRow(0).Fence+int64(i))
		}
		if !single {
			wantMeta(t, s, metaOf(names[i]))
		}
	}
}

// wantNames checks which of some names have a namespace. A server may have others, too.
func wantNames(t *testing.T, s leasestore.Store, names []string, created ...string) {
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

// namesAlike creates namespaces at once whose names differ only in letter case, which are nearly
// always a mistake. One gives out worker IDs, or none if the store has several meta rows, which
// people must then remove. After a first one, no other is created.
func namesAlike(t *testing.T, n namespace) {
	own, ownName := n.named(t)
	for round := range 5 {
		name := fmt.Sprint(ownName, "-twins", round)
		spellings := []string{name, strings.Replace(name, "t", "T", 1), strings.ToUpper(name), strings.Replace(name, "-tw", "-tW", 1)}
		won, errs := make([]bool, len(spellings)), make([]error, len(spellings))
		twins := make([]leasestore.Store, len(spellings))
		for i, s := range spellings {
			twins[i] = n.other(t, s)
		}
		first := 0
		if round == 0 { // the first one is created before the others
			won[0], errs[0] = n.try(t, twins[0])
			first = 1
		}
		testkit.Together(len(twins)-first, func(i int) { won[first+i], errs[first+i] = n.try(t, twins[first+i]) })
		winners, created := 0, 0
		all := call(t, "Namespaces", own.Namespaces)
		for i, s := range spellings {
			if won[i] {
				winners++
			} else if text := fmt.Sprintf("%q differs from %q", s, name); !errors.Is(errs[i], leasestore.ErrOverlap) ||
				round == 0 && !strings.Contains(errs[i].Error(), text) {
				t.Errorf("Assign: %v, want ErrOverlap, by leasestore.CheckNamespaceTwin: %s", errs[i], text)
			}
			if _, ok := all[s]; ok {
				created++
			}
		}
		if winners > 1 || winners == 0 && created < 2 || round == 0 && (!won[0] || created > 1) {
			t.Errorf("%d of %q give out worker IDs, and %d were created; want one", winners, spellings, created)
		}
	}
	for _, other := range []string{ownName + "-.", ownName + "_"} {
		if ok, err := n.try(t, n.other(t, other)); !ok {
			t.Errorf("Assign in namespace %q: %v", other, err)
		}
	}
}

// createFree creates rows beside a held row, which stays unchanged. A store that cannot create many
// rows in one operation creates none.
func createFree(t *testing.T, n namespace) {
	s := n.Handle()
	held := sampleRow(3)
	create(t, s, held)
	createMeta(t, s, sampleMeta())
	before := load(t, s, held.WorkerID)
	const rows = 256
	free := make([]leasestore.Row, rows)
	for i := range free {
		free[i] = leasestore.Row{WorkerID: held.WorkerID + int64(i), Version: 1, Fence: 7, Identity: "some server"}
	}
	created := 0
	for _, rows := range [][]leasestore.Row{free, free, free[:1]} {
		if call(t, "CreateFree", func(ctx context.Context) (bool, error) { return s.CreateFree(ctx, rows, -time.Minute) }) {
			created++
		}
	}
	if created == 0 {
		if found := list(t, n.Handle()); len(found) != 1 || !sameRow(found[0], before) {
			t.Errorf("rows %+v after CreateFree returned false, want %+v alone", found, before)
		}
		return
	}
	if created != 3 {
		t.Errorf("CreateFree returned true %d times, want always", created)
	}
	call(t, "CreateFree of no rows", func(ctx context.Context) (bool, error) { return s.CreateFree(ctx, nil, 0) })
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
