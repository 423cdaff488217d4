package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// costs are tests that measure or read the machine code, and tests that run the go command.
const costs = "Inlined|OneAllocation|AllocatesABlock|NoMemory|KiB|BuildTags|DatabaseDriver|RaceDetector"

// limit ends a test program before it takes all memory.
const limit = "#!/bin/sh\nulimit -v 8000000\nexec \"$@\"\n"

// goTool runs go on the module by itself: the workspace raises the versions of its dependencies.
func goTool(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "go", args...)
	c.Env = append(os.Environ(), "GOWORK=off")
	c.WaitDelay = 10 * time.Second
	return c
}

// mutants finds the mutants of the package in the files that this machine builds.
func (t target) mutants(ctx context.Context) (all []*mutant, err error) {
	out, err := goTool(ctx, "list", "-f", "{{range .GoFiles}}{{.}}\n{{end}}", "./"+t.dir).Output()
	if err != nil {
		return nil, fmt.Errorf("go list ./%s: %w", t.dir, err)
	}
	for name := range strings.FieldsSeq(string(out)) {
		f, err := find(t.dir, filepath.Join(t.dir, name))
		if err != nil {
			return nil, err
		}
		all = append(all, f.mutants...)
	}
	return all, nil
}

// A bench runs the tests of a target.
type bench struct {
	target
	tmp   string
	times map[string]time.Duration // of the tests of a package, without a mutant
}

// newBench runs the tests without a mutant, which must pass.
func newBench(ctx context.Context, t target) (*bench, error) {
	tmp, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	b := &bench{target: t, tmp: tmp, times: make(map[string]time.Duration)}
	err = os.WriteFile(b.limit(), []byte(limit), 0o700)
	for _, dir := range b.packages() {
		began := time.Now()
		if out, errTest := b.test(ctx, dir, 5*time.Minute); err == nil && errTest != nil {
			err = fmt.Errorf("the tests of %s fail without a mutant: %w\n%s", dir, errTest, out)
		}
		b.times[dir] = time.Since(began)
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) close() { _ = os.RemoveAll(b.tmp) }

func (b *bench) limit() string { return filepath.Join(b.tmp, "limit") }

func (b *bench) packages() []string { return append([]string{b.dir}, b.more...) }

func (b *bench) test(ctx context.Context, dir string, within time.Duration, flags ...string) ([]byte, error) {
	args := append([]string{"test", "-short", "-count=1", "-vet=off", "-skip=" + costs, "-timeout=" + within.String()}, flags...)
	if !slices.Contains(flags, "-race") { // the race detector reserves more memory
		args = append(args, "-exec="+b.limit())
	}
	return goTool(ctx, append(args, "./"+dir)...).CombinedOutput()
}

// noBuild is in the output of go test for a package that does not compile.
var noBuild = regexp.MustCompile(`(?m)^FAIL\t\S+ \[(build|setup) failed\]`)

// failed finds the test funcs that fail.
var failed = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// try runs the tests with a mutant, until a package fails, and returns that package, or for a
// matrix the test funcs that fail. A mutant that keeps the tests from ending has failed them: they
// get many times the time that they take without a mutant. Only a change in the order of memory
// meets the race detector.
func (b *bench) try(ctx context.Context, m *mutant) (compiles bool, killers []string, err error) {
	overlay, err := m.overlay(b.tmp)
	if err != nil {
		return false, nil, err
	}
	flags := []string{"-overlay=" + overlay}
	if !*matrix {
		flags = append(flags, "-failfast")
	}
	run := func(dir string, more ...string) bool {
		var out []byte
		out, err = b.test(ctx, dir, 3*time.Second+10*b.times[dir], append(flags, more...)...)
		if _, exited := errors.AsType[*exec.ExitError](err); !exited || ctx.Err() != nil {
			compiles = compiles || err == nil
			return err != nil
		}
		err = nil
		if noBuild.Match(out) {
			return true
		}
		compiles, killers = true, []string{dir}
		if names := failed.FindAllSubmatch(out, -1); *matrix && len(names) > 0 {
			killers = nil
			for _, name := range names {
				killers = append(killers, string(name[1]))
			}
		}
		return true
	}
	if slices.ContainsFunc(b.packages(), func(dir string) bool { return run(dir) }) || !m.orders() || *matrix {
		return compiles, killers, err
	}
	run(b.dir, "-race")
	return compiles, killers, err
}

// overlay writes the mutated file, and returns the name of a file that makes the go command read
// it.
func (m *mutant) overlay(dir string) (string, error) {
	file, err := os.CreateTemp(dir, "*.go")
	if err != nil {
		return "", err
	}
	src := m.file.src
	_, err = file.WriteString(src[:m.start] + m.text + src[m.end:])
	path, errPath := filepath.Abs(m.file.name)
	overlay, errJSON := json.Marshal(map[string]any{"Replace": map[string]string{path: file.Name()}})
	name := file.Name() + ".json"
	return name, errors.Join(err, file.Close(), errPath, errJSON, os.WriteFile(name, overlay, 0o600))
}
