package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
	files   []*file
	tmp     string
	mutants []*mutant // number n is mutants[n-1]
}

// goTool runs go on the module by itself: the workspace raises the versions of its dependencies.
func goTool(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "go", args...)
	c.Env = withoutWorkspace()
	c.WaitDelay = 10 * time.Second
	return c
}

func withoutWorkspace() []string { return append(os.Environ(), "GOWORK=off") }

// choose compiles the mutants that match, or a sample of them, and returns how many match.
func (s *source) choose(ctx context.Context, names *regexp.Regexp) (compiled int, err error) {
	matches := false
	for _, f := range s.files {
		for _, b := range f.bodies {
			for _, m := range b.mutants {
				m.left = !names.MatchString(m.String())
				matches = matches || !m.left
			}
		}
	}
	if !matches {
		return 0, nil
	}
	err = s.compile(ctx)
	compiled = len(s.mutants)
	if err != nil || *sample == 0 || *sample >= compiled {
		return compiled, err
	}
	for _, i := range rand.New(rand.NewPCG(*seed, 0)).Perm(compiled)[*sample:] {
		s.mutants[i].left = true
	}
	return compiled, s.compile(ctx)
}

// place finds the mutant in a message of the compiler: mutate gives each body a file name of its
// own.
var place = regexp.MustCompile(`mutant_(\d+):`)

// compile writes the files of the package with the mutants, and leaves mutants out that the
// compiler refuses.
func (s *source) compile(ctx context.Context) error {
	for {
		if err := s.write(); err != nil {
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
			s.mutants[n-1].left = true
		}
	}
}

func (s *source) overlay() string { return filepath.Join(s.tmp, "overlay.json") }

// write writes the files of the package with the mutants, and the overlay that makes the go command
// read them.
func (s *source) write() error {
	s.mutants = nil
	texts := map[string]string{filepath.Join(s.dir, "mutant_number.go"): fmt.Sprintf(
		"package %s\n\nimport (\n\"os\"\n\"strconv\"\n)\n\nvar mutantNumber, _ = strconv.Atoi(os.Getenv(%q))\n", filepath.Base(s.dir), numberEnv)}
	for _, f := range s.files {
		texts[f.name] = s.mutate(f)
	}
	return writeOverlay(s.overlay(), texts)
}

// writeOverlay writes a file for the flag -overlay of the go command, with other texts of files.
func writeOverlay(name string, texts map[string]string) (err error) {
	replace := make(map[string]string)
	for file, text := range texts {
		path, errPath := filepath.Abs(file)
		replace[path] = filepath.Join(filepath.Dir(name), filepath.Base(file))
		err = errors.Join(err, errPath, os.WriteFile(replace[path], []byte(text), 0o600))
	}
	text, errText := json.Marshal(map[string]any{"Replace": replace})
	return errors.Join(err, errText, os.WriteFile(name, text, 0o600))
}

// mutate returns a file with a copy of each body for each mutant, and numbers these.
func (s *source) mutate(f *file) string {
	var text strings.Builder
	at := 0
	for _, b := range f.bodies {
		text.WriteString(f.src[at:b.start])
		at = b.start
		original := len(s.mutants)
		for _, m := range b.mutants {
			if m.left {
				continue
			}
			if len(s.mutants) == original {
				text.WriteString("\nswitch mutantNumber {\n")
			}
			s.mutants = append(s.mutants, m)
			fmt.Fprintf(&text, "case %d:\n//line mutant_%[1]d:1\n%s%s%s\n", len(s.mutants), f.src[b.start:m.start], m.text, f.src[m.end:b.end])
		}
		if len(s.mutants) > original {
			fmt.Fprintf(&text, "default:\n//line %s:%d\n%s\n}\n", filepath.Base(f.name), 1+strings.Count(f.src[:b.start], "\n"), f.src[b.start:b.end])
			at = b.end
		}
	}
	return text.String() + f.src[at:]
}
