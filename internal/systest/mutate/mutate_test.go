package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func changes(t *testing.T, body string) (all []string) {
	t.Helper()
	bodies, err := find("pkg", "a.go", []byte("package pkg\n\nfunc (r *T[K]) f() {\n"+body+"\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range bodies[0].mutants {
		all = append(all, strings.TrimPrefix(m.String(), "pkg T.f: "))
	}
	return all
}

func TestEachStatementHasItsMutants(t *testing.T) {
	for body, want := range map[string][]string{
		"if a < b { return }":                      {"a < b -> !(a < b)", "a < b -> a <= b"},
		"for a == b && c {}":                       {"a == b && c -> a == b", "a == b && c -> c", "a == b -> a != b"},
		"switch { case ok(): }":                    {"ok() -> !(ok())"},
		"return true":                              {"true -> false"},
		"x := a + 1":                               {"a + 1 -> a - 1", "1 -> (1 + 1)"},
		`x := a + "s"`:                             nil,
		"r.x = y":                                  {"remove r.x = y"},
		"r.n++":                                    {"remove r.n++"},
		"f(1)\nf(1)":                               {"remove f(1)", "remove f(1) #2", "1 -> (1 + 1)", "1 -> (1 + 1) #2"},
		"r.a.Store(x)\nr.b = y":                    {"swap r.a.Store(x) | r.b = y", "remove r.a.Store(x)", "remove r.b = y"},
		"a, b := r.x(), r.y()":                     {"swap a, b := r.x(), r.y()"},
		"r.mu.Lock()\nx := y":                      {"remove r.mu.Lock()"},
		"for { continue }":                         {"remove continue"},
		`panic("a" + f(1))`:                        {`remove panic("a" + f(1))`},
		`k.Logger.Info("a", 1)`:                    {`remove k.Logger.Info("a", 1)`},
		"x := func() { g.f() }":                    {"remove g.f()"},
		"go r.loop()":                              {"remove go r.loop()"},
		"a, ok = r.x(), r.y()":                     {"swap a, ok = r.x(), r.y()", "remove a, ok = r.x(), r.y()"},
		"if err != nil { ch <- x }":                {"err != nil -> err == nil", "remove ch <- x"},
		"r.mu.Lock()\ndefer r.mu.Unlock()\nx := y": {"remove r.mu.Lock() and Unlock"},
	} {
		got := changes(t, body)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%q, want\n%q", body, got, want)
		}
	}
}

// Each mutant is a copy of the body with the change, and number 0 is the body as it was.
func TestAFileHasACopyOfABodyForEachMutant(t *testing.T) {
	const src = "package pkg\n\nfunc f() bool { return true }\n\nfunc g() {}\n"
	bodies, err := find("pkg", "pkg/a.go", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	for wanted, want := range map[bool]string{
		false: src,
		true: "package pkg\n\nfunc f() bool {\nswitch mutantNumber {\ncase 1:\n//line mutant_1:1\n return false \n" +
			"default:\n//line a.go:3\n return true \n}\n}\n\nfunc g() {}\n",
	} {
		s := new(source)
		got := s.mutate(src, "pkg/a.go", bodies, func(mutant) bool { return wanted })
		if string(got) != want || len(s.mutants) > 0 != wanted {
			t.Errorf("%d mutants in\n%s, want\n%s", len(s.mutants), got, want)
		}
	}
}

func TestSurvivorsNeedAReasonAndAMutant(t *testing.T) {
	all := []mutant{{pkg: "pkg", function: "f", change: "a -> b", nth: 1}, {pkg: "pkg", function: "f", change: "a -> b", nth: 2}}
	for text, want := range map[string]string{ // of the error
		"": "",
		"# Why.\npkg f: a -> b\npkg f: a -> b #2\n": "",
		"pkg f: a -> b\n":           ":1: pkg f: a -> b: no reason above",
		"# Why.\n\npkg f: a -> b\n": ":3: pkg f: a -> b: no reason above",
		"# Why.\npkg f: a -> c\n":   ":2: pkg f: a -> c: the code has no such mutant",
	} {
		file := filepath.Join(t.TempDir(), "survivors.txt")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		explained, err := readSurvivors(file, all)
		if want == "" {
			if err != nil || len(explained) != strings.Count(text, "pkg") {
				t.Errorf("%q: %v, %v", text, explained, err)
			}
		} else if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestAMutantThatLivesFailsTheRun(t *testing.T) {
	var out strings.Builder
	r := &report{out: &out, explained: map[string]bool{"pkg f: a": true}}
	r.add(mutant{pkg: "pkg", function: "f", change: "a"}, true)
	r.add(mutant{pkg: "pkg", function: "f", change: "b"}, false)
	if err := r.finish(); err != nil || !strings.Contains(out.String(), "1 of 2 mutants killed, 1 explained") {
		t.Errorf("%v\n%s", err, out.String())
	}
	r.add(mutant{pkg: "pkg", function: "f", change: "c"}, true)
	if err := r.finish(); err == nil || !strings.Contains(out.String(), "survived: pkg f: c\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestASampleHasMutantsOfEachPackage(t *testing.T) {
	var all []mutant
	for nth := range 50 {
		all = append(all, mutant{pkg: "a", function: "f", nth: nth + 1}, mutant{pkg: "b", function: "f", nth: nth + 1})
	}
	all = append(all, mutant{pkg: "c", function: "f", nth: 1}, mutant{pkg: "d", function: "f", nth: 1})
	explained := map[string]bool{all[0].String(): true}
	of := make(map[string]int)
	for _, m := range (options{sample: 3, seed: 1}).choose(all, regexp.MustCompile("^[abc]"), explained) {
		of[m.pkg]++
		if explained[m.String()] {
			t.Errorf("%v is explained", m)
		}
	}
	if want := map[string]int{"a": 3, "b": 3, "c": 1}; !maps.Equal(of, want) {
		t.Errorf("mutants by package: %v, want %v", of, want)
	}
	if err := (&report{out: t.Output()}).finish(); err == nil {
		t.Error("a run that tries no mutant passes")
	}
}
