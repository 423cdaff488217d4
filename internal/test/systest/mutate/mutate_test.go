package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/test/testkit"
)

func TestFindHasTheMutantsOfEachStatement(t *testing.T) {
	cases := map[string][]string{
		"if a < b { return }":     {"false a < b", "true a < b", "operator a < b"},
		"for a == b && c {}":      {"false a == b && c", "operand a == b && c", "operand a == b && c", "operator a == b"},
		"switch { case ok: }":     {"false ok", "true ok"},
		"return true":             {"number true"},
		"return 1, fmt.Errorf(a)": nil,
		"return 1, err":           nil,
		"return 1, nil":           {"number 1"},
		"return 1, false":         {"number false"},
		"return 1, true":          {"number 1", "number true"},
		"x := a + 1":              {"operator a + 1", "number 1"},
		`x := a + "s"`:            nil,
		"x := f(a, 1)":            {"argument f(a, 1)", "number 1"},
		"x := t.UTC()":            {"argument t.UTC()"},
		"r.x = y":                 {"remove r.x = y"},
		"r.n++":                   {"remove r.n++"},
		"r.a.Store(x)\nr.b <- y":  {"swap r.a.Store(x)", "remove r.a.Store(x)", "argument r.a.Store(x)", "remove r.b <- y"},
		"for { continue }":        {"remove continue"},
		`panic("a" + f(1))`:       {`remove panic("a" + f(1))`},
		`k.Logger.Info("a", 1)`:   {`remove k.Logger.Info("a", 1)`},
		"go r.loop()":             {"remove go r.loop()", "argument r.loop()"},
		"ch <- x":                 {"remove ch <- x"},
		"r.mu.Lock()\ndefer r.mu.Unlock()\nx := y": {"remove r.mu.Lock() and Unlock", "argument r.mu.Lock()", "argument r.mu.Unlock()"},
	}
	bodies := slices.Sorted(maps.Keys(cases))
	p, _ := findIn(t, "var err error\n"+methods("T[K]", bodies)) // the names are not declared
	for i, body := range bodies {
		var got []string
		for _, m := range p.files[0].bodies[i].mutants {
			change, _, _ := strings.Cut(strings.TrimPrefix(m.String(), fmt.Sprintf("pkg T.f%d: ", i)), " -> ")
			change, _, _ = strings.Cut(change, " | ")
			got = append(got, change)
		}
		slices.Sort(got)
		want := slices.Sorted(slices.Values(cases[body]))
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%q, want\n%q", body, got, want)
		}
	}
}

// findIn finds the mutants of a package with the code.
func findIn(t *testing.T, code string) (*pkg, error) {
	name := filepath.Join(t.TempDir(), "a.go")
	testkit.Must(t, os.WriteFile(name, []byte("package pkg\n\n"+code), 0o600))
	return load(t.Context(), "pkg", name)
}

// methods returns a method of a type for each body, whose statements may be parted by "; ".
func methods(of string, bodies []string) (code string) {
	for i, body := range bodies {
		code += fmt.Sprintf("func (r *%s) f%d() {\n%s\n}\n", of, i, strings.ReplaceAll(body, "; ", "\n"))
	}
	return code
}

// declared is for the bodies of TestSwapsWhereTheOrderCanMatter.
const declared = `
import ("sync"; "sync/atomic"; "time")

type part struct { n, m int }
func (p *part) sum() int { return p.n + p.m }
func (p *part) add(n int) { p.n += n }
var _ time.Time

type all struct { part; mu sync.Mutex; a, b atomic.Int64; ch chan bool; hook func() int; store interface{ Save(int) } }
func (r *all) set(n int) { r.a.Store(int64(n)) }
func pass[T any](n T, ch chan T) { ch <- n }
func plain(n int) int { return n }
`

// Statements are swapped if the outside sees both, or one uses a variable that the other writes.
func TestSwapsWhereTheOrderCanMatter(t *testing.T) {
	cases := map[string]bool{
		"r.a.Store(1); r.b.Store(2)":                 true,
		"r.n = 1; r.m = 2":                           false,
		"r.n = plain(1); r.m = r.sum()":              true, // sum uses all fields
		"r.n = plain(1); r.m = plain(r.n)":           true,
		"r.n = plain(1); r.m = plain(2)":             false,
		"r.part = part{}; r.part.n = 1":              true,
		"r.a.Store(1); r.n = 1":                      false,
		"r.set(1); r.store.Save(1)":                  true, // set stores
		"r.set(1); r.part.add(1)":                    false,
		"r.n = r.hook(); r.ch <- true":               true,
		"r.n = r.hook(); r.m = plain(1)":             false,
		"go r.sum(); close(r.ch)":                    true,
		"pass(true, r.ch); <-r.ch":                   true,
		"r.n = time.Now().Second(); r.store.Save(1)": true,
		"r.n = time.Now().Second(); r.m = plain(1)":  false,
		"r.mu.Lock(); r.n = 1":                       true,
		"r.n = 1; r.mu.Unlock()":                     true,
		"r.a.Store(1); r.mu.Lock()":                  false, // moves into the lock
		"r.mu.Unlock(); r.a.Store(1)":                false,
		"r.mu.Lock(); r.mu.Unlock()":                 false,
	}
	bodies := slices.Sorted(maps.Keys(cases))
	p, err := findIn(t, declared+methods("all", bodies))
	testkit.Must(t, err)
	found := p.files[0].bodies
	for i, body := range bodies {
		mutants := found[len(found)-len(bodies)+i].mutants
		swapped := slices.ContainsFunc(mutants, func(m *mutant) bool { return strings.HasSuffix(m.kind, ": swap") })
		if swapped != cases[body] {
			t.Errorf("%s: swapped %v, want %v", body, swapped, cases[body])
		}
	}
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
