package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/test/testkit"
)

func TestFindHasTheMutantsOfEachStatement(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.go")
	for body, want := range map[string][]string{
		"if a < b { return }":     {"false a < b", "true a < b", "operator a < b"},
		"for a == b && c {}":      {"false a == b && c", "operand a == b && c", "operand a == b && c", "operator a == b"},
		"switch { case ok: }":     {"false ok", "true ok"},
		"return true":             {"number true"},
		"return 1, fmt.Errorf(a)": nil,
		"x := a + 1":              {"operator a + 1", "number 1"},
		`x := a + "s"`:            nil,
		"x := f(a, 1)":            {"argument f(a, 1)", "number 1"},
		"x := t.UTC()":            {"argument t.UTC()"},
		"r.x = y":                 {"remove r.x = y"},
		"r.n++":                   {"remove r.n++"},
		"r.a.Store(x)\nr.b = y":   {"swap r.a.Store(x)", "remove r.a.Store(x)", "argument r.a.Store(x)", "remove r.b = y"},
		"for { continue }":        {"remove continue"},
		`panic("a" + f(1))`:       {`remove panic("a" + f(1))`},
		`k.Logger.Info("a", 1)`:   {`remove k.Logger.Info("a", 1)`},
		"go r.loop()":             {"remove go r.loop()", "argument r.loop()"},
		"ch <- x":                 {"remove ch <- x"},
		"r.mu.Lock()\ndefer r.mu.Unlock()\nx := y": {"remove r.mu.Lock() and Unlock", "argument r.mu.Lock()", "argument r.mu.Unlock()"},
	} {
		testkit.Must(t, os.WriteFile(file, []byte("package pkg\n\nfunc (r *T[K]) f() {\n"+body+"\n}\n"), 0o600))
		found, err := find("pkg", file)
		testkit.Must(t, err)
		var got []string
		for _, m := range found.bodies[0].mutants {
			change, _, _ := strings.Cut(strings.TrimPrefix(m.String(), "pkg T.f: "), " -> ")
			change, _, _ = strings.Cut(change, " | ")
			got = append(got, change)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%q, want\n%q", body, got, want)
		}
	}
}

// A mutant that lives without an explanation fails the run.
func TestReportCountsExplainedMutants(t *testing.T) {
	file := filepath.Join(t.TempDir(), "survivors.txt")
	testkit.Must(t, os.WriteFile(file, []byte("# Why.\npkg f: swap\npkg g: number ×2\n"), 0o600))
	explained, err := readSurvivors(file)
	r := &report{out: t.Output(), explained: explained}
	if err != nil || r.finish(0) == nil {
		t.Errorf("a run that tries no mutant passes, %v", err)
	}
	for _, kind := range []string{"pkg f: swap", "pkg g: number", "pkg g: number"} {
		r.add(&mutant{kind: kind}, "")
	}
	if err := r.finish(100); err != nil {
		t.Error(err)
	}
	r.add(&mutant{kind: "pkg f: swap"}, "")
	if r.finish(100) == nil || r.finish(75) != nil {
		t.Error("a second mutant lives where one is explained: want a failure above 75 %")
	}
}

// The texts of rules.txt are in the code.
func TestRulesAreInTheCode(t *testing.T) {
	t.Chdir("../../../..")
	all, err := readRules(rules)
	if err != nil || len(all) == 0 {
		t.Fatalf("%d rules: %v", len(all), err)
	}
	for _, r := range all {
		if _, err := r.source(); err != nil {
			t.Error(err)
		}
	}
}
