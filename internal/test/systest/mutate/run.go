package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// A suite is the test program of a folder with all mutants of a source.
type suite struct {
	dir, program string
	race         bool
	times        map[string]time.Duration // of each test func, without a mutant
}

// costs are tests that measure or read the machine code, which all mutants together change, and
// tests that run the go command.
const costs = "Inlined|OneAllocation|AllocatesABlock|NoMemory|KiB|BuildTags|DatabaseDriver|RaceDetector"

// limit ends a program before it takes all memory. The race detector reserves more.
const limit = `[ $0 = true ] || ulimit -v 8000000; exec "$@"`

// test runs tests for a mutant, or all for the unchanged package with number 0. A mutant that keeps
// them from ending has failed them: they get many times the time that they take without a mutant.
func (s *suite) test(ctx context.Context, number int, tests []string, flags ...string) (passed bool, out []byte, err error) {
	within := 5 * time.Minute
	if number > 0 {
		within = 3 * time.Second
		for _, t := range tests {
			within += 10 * s.times[t]
		}
		flags = append(flags, "-test.run=^("+strings.Join(tests, "|")+")$")
	}
	timed, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	c := exec.CommandContext(timed, "sh", append([]string{"-c", limit, fmt.Sprint(s.race), s.program, "-test.short", "-test.skip=" + costs}, flags...)...)
	c.Dir = s.dir
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", numberEnv, number))
	c.WaitDelay = 2 * time.Second // for processes that it has started
	out, err = c.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); ctx.Err() == nil && (failed || timed.Err() != nil) {
		return false, out, nil
	}
	return err == nil, out, err
}

// result finds the name and time of a test func in the output of a run with -test.v, also in the
// lines of its subtests, since its own time leaves out parallel ones.
var result = regexp.MustCompile(`(?m)^ *--- PASS: (\w+)\S* \(([0-9.]+s)\)`)

// build builds the tests of a folder, and runs them without a mutant.
func (s *source) build(ctx context.Context, dir string, race bool) (*suite, error) {
	u := &suite{dir: dir, program: filepath.Join(s.tmp, fmt.Sprint(filepath.Base(dir), race)), race: race, times: make(map[string]time.Duration)}
	compile := goTool(ctx, "test", "-c", "-vet=off", "-overlay="+s.overlay(), fmt.Sprint("-race=", race), "-o", u.program, "./"+dir)
	if race {
		compile.Env = append(compile.Env, "CGO_ENABLED=1") // make switches it off
	}
	if out, err := compile.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go test -c ./%s with the mutants of %s: %w\n%s", dir, s.dir, err, out)
	}
	passed, out, err := u.test(ctx, 0, nil, "-test.v")
	if err == nil && !passed {
		err = fmt.Errorf("the tests of %s fail without a mutant of %s:\n%s", dir, s.dir, out)
	}
	for _, m := range result.FindAllSubmatch(out, -1) {
		took, _ := time.ParseDuration(string(m[2]))
		u.times[string(m[1])] = max(u.times[string(m[1])], took)
	}
	return u, err
}

// plan lists the suites for the mutants, which are built when they are needed: the tests of the
// mutated package, then the tests of other packages, then the first once more with the race
// detector.
func (s *source) plan(ctx context.Context) (suites []func() (*suite, error)) {
	for i, dir := range slices.Concat([]string{s.dir}, s.more, []string{s.dir}) {
		suites = append(suites, sync.OnceValues(func() (*suite, error) { return s.build(ctx, dir, i > len(s.more)) }))
	}
	return suites
}

// killer runs tests until one fails, and returns the package of that test, or nothing. Only a
// change in the order of memory meets the race detector.
func killer(ctx context.Context, suites []func() (*suite, error), number int, m *mutant) (dir string, err error) {
	for i, build := range suites {
		if i > 0 && i == len(suites)-1 && !m.orders() {
			break
		}
		u, err := build()
		if err != nil {
			return "", err
		}
		for _, tests := range u.groups() {
			if passed, _, err := u.test(ctx, number, tests, "-test.failfast"); err != nil || !passed {
				return u.dir, err
			}
		}
	}
	return "", nil
}

// groups returns the tests that run together: quick ones before slow ones.
func (s *suite) groups() [][]string {
	tests := slices.SortedFunc(maps.Keys(s.times), func(a, b string) int { return int(s.times[a] - s.times[b]) })
	quick := slices.IndexFunc(tests, func(name string) bool { return s.times[name] >= 100*time.Millisecond })
	if quick > 0 {
		return [][]string{tests[:quick], tests[quick:]}
	}
	return [][]string{tests}
}
