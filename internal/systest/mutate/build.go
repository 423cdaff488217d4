package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// numberEnv is the environment variable that chooses a mutant: all mutants of a package are in one
// program, since compiling takes longer than most tests.
const numberEnv = "UIDRING_MUTANT"

// A source is a package with all its mutants: each function has a copy of its body for each.
type source struct {
	target
	mutants []mutant // number n is mutants[n-1]
	overlay string

	mu       sync.Mutex
	programs map[stage]string
	times    map[stage]time.Duration // CPU time of a stage without a mutant
}

// goTool runs go on the module by itself: the workspace raises the versions of its dependencies.
func goTool(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "go", args...)
	c.Env = append(os.Environ(), "GOWORK=off")
	c.WaitDelay = 10 * time.Second
	return c
}

// read returns the functions of each file of the package that this machine builds.
func (t target) read(ctx context.Context) (map[string][]body, error) {
	out, err := goTool(ctx, "list", "-f", "{{range .GoFiles}}{{.}}\n{{end}}", "./"+t.dir).Output()
	if err != nil {
		return nil, fmt.Errorf("go list ./%s: %w", t.dir, err)
	}
	files := make(map[string][]body)
	for name := range strings.FieldsSeq(string(out)) {
		file := filepath.Join(t.dir, name)
		src, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if files[file], err = find(t.dir, file, src); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// prepare writes the chosen mutants of a package into dir, except mutants that do not compile.
func prepare(ctx context.Context, dir string, t target, files map[string][]body, chosen map[string]bool) (*source, error) {
	s := &source{target: t, overlay: filepath.Join(dir, "overlay.json"), programs: make(map[stage]string), times: make(map[stage]time.Duration)}
	for refused := make(map[string]bool); ; {
		s.mutants = nil
		if err := s.write(dir, files, func(m mutant) bool { return chosen[m.String()] && !refused[m.String()] }); err != nil {
			return nil, err
		}
		out, err := goTool(ctx, "build", "-gcflags="+importPath(t.dir)+"=-e", "-overlay="+s.overlay, "./"+t.dir).CombinedOutput()
		if err == nil {
			return s, nil
		}
		wrong := place.FindAllSubmatch(out, -1)
		if wrong == nil {
			return nil, fmt.Errorf("go build ./%s: %w\n%s", t.dir, err, out)
		}
		for _, match := range wrong {
			n, _ := strconv.Atoi(string(match[1]))
			refused[s.mutants[n-1].String()] = true
		}
	}
}

// place finds the mutant in a message of the compiler: mutate gives each body a file name of its
// own.
var place = regexp.MustCompile(`mutant_(\d+):`)

// write writes the files of the package with the mutants that are wanted, and the overlay that
// makes the go command read them.
func (s *source) write(dir string, files map[string][]body, wanted func(mutant) bool) error {
	number := filepath.Join(dir, "number.go")
	replace := map[string]string{filepath.Join(s.dir, "mutant_number.go"): number}
	text := "package " + filepath.Base(s.dir) + "\n\nimport (\n\"os\"\n\"strconv\"\n)\n\nvar mutantNumber, _ = strconv.Atoi(os.Getenv(\"" + numberEnv + "\"))\n"
	if err := os.WriteFile(number, []byte(text), 0o600); err != nil {
		return err
	}
	for file, bodies := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		replace[file] = filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(replace[file], s.mutate(string(src), file, bodies, wanted), 0o600); err != nil {
			return err
		}
	}
	absolute := make(map[string]string)
	for file, by := range replace {
		path, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		absolute[path] = by
	}
	overlay, err := json.Marshal(map[string]any{"Replace": absolute})
	if err != nil {
		return err
	}
	return os.WriteFile(s.overlay, overlay, 0o600)
}

// mutate returns a file with a copy of each body for each mutant, and numbers these.
func (s *source) mutate(src, file string, bodies []body, wanted func(mutant) bool) []byte {
	var text strings.Builder
	at := 0
	for _, b := range bodies {
		text.WriteString(src[at:b.start])
		at = b.start
		original := len(s.mutants)
		for _, m := range b.mutants {
			if !wanted(m) {
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
	text.WriteString(src[at:])
	return []byte(text.String())
}

// program returns the test program of a stage with all mutants. It builds the program once. The
// caller holds mu.
func (s *source) program(ctx context.Context, st stage) (string, error) {
	st.skip = ""
	if file := s.programs[st]; file != "" {
		return file, nil
	}
	file := filepath.Join(filepath.Dir(s.overlay), fmt.Sprintf("test%d", len(s.programs)))
	args := []string{"test", "-c", "-vet=off", "-overlay=" + s.overlay, "-o", file}
	if st.race {
		args = append(args, "-race")
	}
	if out, err := goTool(ctx, append(args, "./"+st.dir)...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("go test -c ./%s with the mutants of %s: %w\n%s", st.dir, s.dir, err, out)
	}
	s.programs[st] = file
	return file, nil
}
