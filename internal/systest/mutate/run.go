package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// limits ends tests that a mutant keeps from ending: by their own CPU time, which does not depend
// on other work of the machine, and before they take all memory. The race detector reserves more.
const limits = `ulimit -t $0; [ $1 = race ] || ulimit -v 8000000; shift; exec "$@"`

// test runs a stage for a mutant, or for the unchanged package with number 0, within a CPU time.
func (s *source) test(ctx context.Context, number int, st stage, program string, within time.Duration) (passed bool, out []byte, took time.Duration, err error) {
	word := map[bool]string{true: "race", false: "plain"}[st.race]
	c := exec.CommandContext(ctx, "sh", "-c", limits, fmt.Sprint(int(within.Seconds())), word,
		program, "-test.short", "-test.failfast", "-test.timeout="+(30*time.Second+5*within).String(), "-test.skip="+st.skip)
	c.Dir = st.dir
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", numberEnv, number))
	c.WaitDelay = 10 * time.Second
	out, err = c.CombinedOutput()
	switch _, failed := errors.AsType[*exec.ExitError](err); {
	case ctx.Err() != nil:
		return false, nil, 0, ctx.Err()
	case failed:
		return false, out, 0, nil
	case err != nil:
		return false, nil, 0, err
	}
	return true, nil, c.ProcessState.UserTime() + c.ProcessState.SystemTime(), nil
}

// ready builds the program of a stage and runs it without a mutant, once. It returns the program
// and the CPU time that a mutant gets.
func (s *source) ready(ctx context.Context, st stage) (program string, within time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if program, err = s.program(ctx, st); err != nil {
		return "", 0, err
	}
	if s.times[st] == 0 {
		passed, out, took, err := s.test(ctx, 0, st, program, 5*time.Minute)
		if err == nil && !passed {
			err = fmt.Errorf("the tests of %s fail without a mutant of %s:\n%s", st.dir, s.dir, out)
		}
		if err != nil {
			return "", 0, err
		}
		s.times[st] = took
	}
	return program, 2*time.Second + 4*s.times[st], nil
}

// survives runs the stages until one fails.
func (s *source) survives(ctx context.Context, number int) (bool, error) {
	for _, st := range s.stages {
		if st.race && !s.mutants[number-1].orders() {
			continue
		}
		program, within, err := s.ready(ctx, st)
		if err != nil {
			return false, err
		}
		passed, _, _, err := s.test(ctx, number, st, program, within)
		if err != nil || !passed {
			return false, err
		}
	}
	return true, nil
}
