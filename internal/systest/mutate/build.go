package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// numberEnv is the environment variable that chooses a mutant: all mutants of a package are in one
// program, since compiling takes longer than most tests.
const numberEnv = "UIDRING_MUTANT"

// A source is a package with its mutants: each function has a copy of its body for each.
type source struct {
	target
	files   map[string][]body
	tmp     string
	mutants []*mutant // number n is mutants[n-1]
}

// goTool runs go on the module by itself: the workspace raises the versions of its dependencies.
func goTool(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "go", args...)
	c.Env = append(os.Environ(), "GOWORK=off")
	c.WaitDelay = 10 * time.Second
	return c
}

// read finds the mutants of the package in the files that this machine builds.
func (t target) read(ctx context.Context, tmp string) (*source, error) {
	out, err := goTool(ctx, "list", "-f", "{{range .GoFiles}}{{.}}\n{{end}}", "./"+t.dir).Output()
	if err != nil {
		return nil, fmt.Errorf("go list ./%s: %w", t.dir, err)
	}
	s := &source{target: t, files: make(map[string][]body), tmp: tmp}
	for name := range strings.FieldsSeq(string(out)) {
		file := filepath.Join(t.dir, name)
		src, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if s.files[file], err = find(t.dir, file, src); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// choose compiles the mutants that match, or a sample of them, and returns how many match.
func (s *source) choose(ctx context.Context, names *regexp.Regexp) (compiled int, err error) {
	chosen := make(map[*mutant]bool)
	for _, bodies := range s.files {
		for _, b := range bodies {
			for _, m := range b.mutants {
				if names.MatchString(m.String()) {
					chosen[m] = true
				}
			}
		}
	}
	if len(chosen) == 0 {
		return 0, nil
	}
	if err := s.compile(ctx, chosen); err != nil {
		return 0, err
	}
	compiled = len(s.mutants)
	if *sample == 0 || *sample >= compiled {
		return compiled, nil
	}
	for _, i := range rand.New(rand.NewPCG(*seed, 0)).Perm(compiled)[*sample:] {
		delete(chosen, s.mutants[i])
	}
	return compiled, s.compile(ctx, chosen)
}

// place finds the mutant in a message of the compiler: mutate gives each body a file name of its
// own.
var place = regexp.MustCompile(`mutant_(\d+):`)

// compile writes the files of the package with the chosen mutants, and drops mutants that the
// compiler refuses.
func (s *source) compile(ctx context.Context, chosen map[*mutant]bool) error {
	for {
		if err := s.write(chosen); err != nil {
			return err
		}
		out, err := goTool(ctx, "build", "-gcflags=-e", "-overlay="+s.overlay(), "./"+s.dir).CombinedOutput()
		if err == nil {
			return nil
		}
		wrong := place.FindAllSubmatch(out, -1)
		if wrong == nil {
			return fmt.Errorf("go build ./%s: %w\n%s", s.dir, err, out)
		}
		for _, match := range wrong {
			n, _ := strconv.Atoi(string(match[1]))
			delete(chosen, s.mutants[n-1])
		}
	}
}

func (s *source) overlay() string { return filepath.Join(s.tmp, "overlay.json") }

// write writes the files of the package with the chosen mutants, and the overlay that makes the go
// command read them.
func (s *source) write(chosen map[*mutant]bool) error {
	s.mutants = nil
	replace := make(map[string]string)
	add := func(file, text string) error {
		path, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		replace[path] = filepath.Join(s.tmp, filepath.Base(file))
		return os.WriteFile(replace[path], []byte(text), 0o600)
	}
	text := "package " + filepath.Base(s.dir) + "\n\nimport (\n\"os\"\n\"strconv\"\n)\n\nvar mutantNumber, _ = strconv.Atoi(os.Getenv(\"" + numberEnv + "\"))\n"
	err := add(filepath.Join(s.dir, "mutant_number.go"), text)
	for _, file := range slices.Sorted(maps.Keys(s.files)) {
		src, errRead := os.ReadFile(file)
		err = errors.Join(err, errRead, add(file, s.mutate(string(src), file, s.files[file], chosen)))
	}
	overlay, errOverlay := json.Marshal(map[string]any{"Replace": replace})
	return errors.Join(err, errOverlay, os.WriteFile(s.overlay(), overlay, 0o600))
}

// mutate returns a file with a copy of each body for each mutant, and numbers these.
func (s *source) mutate(src, file string, bodies []body, chosen map[*mutant]bool) string {
	var text strings.Builder
	at := 0
	for _, b := range bodies {
		text.WriteString(src[at:b.start])
		at = b.start
		original := len(s.mutants)
		for _, m := range b.mutants {
			if !chosen[m] {
				continue
			}
			if len(s.mutants) == original {
				text.WriteString("\nswitch mutantNumber {\n")
			}
			s.mutants = append(s.mutants, m)
			fmt.Fprintf(&text, "case %d:\n//line mutant_%[1]d:1\n%s%s%s\n", len(s.mutants), src[b.start:m.start], m.text, src[m.end:b.end])
		}
		if len(s.mutants) > original {
			fmt.Fprintf(&text, "default:\n//line %s:%d\n%s\n}\n", filepath.Base(file), 1+strings.Count(src[:b.start], "\n"), src[b.start:b.end])
			at = b.end
		}
	}
	return text.String() + src[at:]
}
