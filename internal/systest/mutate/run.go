package main

import (
	"context"
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

// A suite is the test program of a folder with all mutants of a source.
type suite struct {
	dir, program string
	race         bool
	times        map[string]time.Duration // of each test func, without a mutant
}

// quick is the time of a test that runs before slower ones.
const quick = 100 * time.Millisecond

// limits ends tests that a mutant keeps from ending: by their own CPU time, which does not depend
// on other work of the machine, and before they take all memory. The race detector reserves more.
const limits = `ulimit -t $0; [ $1 = true ] || ulimit -v 8000000; shift; exec "$@"`

// test runs tests for a mutant, or for the unchanged package with number 0.
func (s *suite) test(ctx context.Context, number int, tests []string, flags ...string) (passed bool, out []byte, err error) {
	within := 3 * time.Second
	for _, t := range tests {
		within += 8 * s.times[t]
	}
	if tests == nil { // all, for the first time
		within = 5 * time.Minute
	} else {
		flags = append(flags, "-test.run=^("+strings.Join(tests, "|")+")$")
	}
	c := exec.CommandContext(ctx, "sh", append([]string{"-c", limits, fmt.Sprint(int(within.Seconds())), fmt.Sprint(s.race), s.program,
		"-test.short", "-test.skip=" + costs, "-test.timeout=" + (30*time.Second + 5*within).String()}, flags...)...)
	c.Dir = s.dir
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", numberEnv, number))
	c.WaitDelay = 10 * time.Second
	out, err = c.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); failed && ctx.Err() == nil {
		return false, out, nil
	}
	return err == nil, out, err
}

// result finds the outcome and time of a test func in the output of a run with -test.v.
var result = regexp.MustCompile(`(?m)^--- PASS: (\w+) \(([0-9.]+s)\)`)

// suite builds the tests of a folder, and runs them without a mutant, once.
func (s *source) suite(ctx context.Context, dir string, race bool) (*suite, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprintf("%s %t", dir, race)
	if s.suites[key] != nil {
		return s.suites[key], nil
	}
	u := &suite{dir: dir, program: filepath.Join(s.tmp, fmt.Sprint("test", len(s.suites))), race: race, times: make(map[string]time.Duration)}
	if out, err := goTool(ctx, "test", "-c", "-vet=off", "-overlay="+s.overlay(), fmt.Sprint("-race=", race), "-o", u.program, "./"+dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go test -c ./%s with the mutants of %s: %w\n%s", dir, s.dir, err, out)
	}
	passed, out, err := u.test(ctx, 0, nil, "-test.v")
	if err == nil && !passed {
		err = fmt.Errorf("the tests of %s fail without a mutant of %s:\n%s", dir, s.dir, out)
	}
	if err != nil {
		return nil, err
	}
	for _, m := range result.FindAllSubmatch(out, -1) {
		u.times[string(m[1])], _ = time.ParseDuration(string(m[2]))
	}
	s.suites[key] = u
	return u, nil
}

// split returns the names of the quick tests and of the slower ones.
func (s *suite) split() (fast, slow []string) {
	for name, took := range s.times {
		if took < quick {
			fast = append(fast, name)
		} else {
			slow = append(slow, name)
		}
	}
	slices.Sort(fast)
	slices.Sort(slow)
	return fast, slow
}

// killer runs tests until one fails, and returns the package of that test: first the tests of the
// mutated package, quick ones before slow ones, then the tests of other packages. A change in the
// order of memory also meets the race detector.
func (s *source) killer(ctx context.Context, number int) (dirs []string, err error) {
	for i, dir := range slices.Concat([]string{s.dir}, s.more, []string{s.dir}) {
		race := i > len(s.more)
		if race && !s.mutants[number-1].orders() {
			break
		}
		u, err := s.suite(ctx, dir, race)
		if err != nil {
			return nil, err
		}
		fast, slow := u.split()
		for _, tests := range [][]string{fast, slow} {
			if len(tests) > 0 {
				if passed, _, err := u.test(ctx, number, tests, "-test.failfast"); err != nil || !passed {
					return []string{dir}, err
				}
			}
		}
	}
	return nil, nil
}

// killers returns the test funcs of the package that fail with a mutant.
func (s *source) killers(ctx context.Context, number int) (names []string, err error) {
	u, err := s.suite(ctx, s.dir, false)
	if err != nil {
		return nil, err
	}
	for name := range u.times {
		passed, _, err := u.test(ctx, number, []string{name})
		if err != nil {
			return nil, err
		}
		if !passed {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}
