package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/test/scripts"
	"github.com/uidring/uidring/internal/test/testkit"
)

// TestScripts runs the scripts in testdata. declare has a line of code of a package, mutants and
// swaps have the body of a method, with its mutants or the swaps among them below.
func TestScripts(t *testing.T) {
	scripts.Files(t, func(t *testing.T, text string) string {
		var code strings.Builder
		methods := 0
		for line := range strings.SplitSeq(text, "\n") {
			command, rest, _ := strings.Cut(strings.TrimPrefix(line, "> "), " ")
			switch command {
			case "declare":
				code.WriteString(rest + "\n")
			case "mutants", "swaps":
				fmt.Fprintf(&code, "func (r *T[K]) f%d() {\n%s\n}\n", methods, strings.ReplaceAll(rest, "; ", "\n"))
				methods++
			}
		}
		p, err := findIn(t, code.String())
		bodies := p.files[0].bodies
		number := 0 // of the method
		var s testkit.Script
		return s.Run(text, func(words testkit.Words) {
			if words.Arg(0) == "declare" {
				return
			}
			swaps := words.Arg(0) == "swaps"
			if swaps && err != nil {
				t.Error(err) // they depend on types
			}
			for _, m := range bodies[len(bodies)-methods+number].mutants {
				if !swaps || strings.HasSuffix(m.kind, ": swap") {
					s.Print("  %s", strings.TrimPrefix(m.String(), fmt.Sprintf("pkg T.f%d: ", number)))
				}
			}
			number++
		})
	})
}

// findIn finds the mutants of a package with the code.
func findIn(t *testing.T, code string) (*pkg, error) {
	name := filepath.Join(t.TempDir(), "a.go")
	testkit.Must(t, os.WriteFile(name, []byte("package pkg\n\n"+code), 0o600))
	return load(t.Context(), "pkg", name)
}

func TestReasonsExplainTheMutantsOfTheirLines(t *testing.T) {
	p, err := findIn(t, `func f(...int) {
	f(1) //mutate:number,remove why
	f(2)
	//mutate:number why
	// More.
	f(3,
		4)
	f(5) //mutate:swap no such mutant
}
`)
	testkit.Must(t, err)
	var got []string
	for _, m := range p.files[0].bodies[0].mutants {
		if m.reason != nil {
			got = append(got, m.String())
		}
	}
	want := []string{"pkg f: remove f(1)", "pkg f: number 1 -> (1 + 1)", "pkg f: number 3 -> (3 + 1)"}
	if !slices.Equal(got, want) {
		t.Errorf("%q are explained, want %q", got, want)
	}
	var useless []string
	p.files[0].reasons[0].mutants[0].lived = true
	for _, r := range p.files[0].reasons {
		if r.useless(func(name string) bool { return !strings.Contains(name, "number 3") }) {
			useless = append(useless, r.operator)
		}
	}
	if want := []string{"remove", "swap"}; !slices.Equal(useless, want) {
		t.Errorf("%q are useless, want %q", useless, want)
	}
	if _, err := findIn(t, "func f(...int) {} //mutate:swap\n"); err == nil {
		t.Error("a reason without words passes")
	}
}

// Each reason in the code is for a mutant.
func TestReasonsInTheCodeHaveMutants(t *testing.T) {
	t.Chdir("../../../..")
	for _, target := range targets {
		p, err := load(t.Context(), target.dir, "./"+target.dir)
		testkit.Must(t, err)
		for _, f := range p.files {
			for _, r := range f.reasons {
				if len(r.mutants) == 0 {
					t.Errorf("%s: no mutant of operator %s begins at line %d", r.place, r.operator, r.line)
				}
			}
		}
	}
}

// A mutant that lives without a reason fails the run.
func TestReportCountsExplainedMutants(t *testing.T) {
	r := &report{out: t.Output()}
	if r.finish(0) == nil {
		t.Error("a run that tries no mutant passes")
	}
	for range 3 {
		r.add(&mutant{reason: &reason{}}, "")
	}
	if err := r.finish(100); err != nil {
		t.Error(err)
	}
	r.add(&mutant{}, "")
	if r.finish(100) == nil || r.finish(75) != nil {
		t.Error("a mutant lives without a reason: want a failure above 75 %")
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
