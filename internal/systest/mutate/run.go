package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// limits ends tests that a mutant keeps from ending: by their own CPU time, which does not depend on
// other work of the machine, and before they take all memory. The race detector reserves more.
const limits = `ulimit -t 15; [ "$0" = race ] || ulimit -v 8000000; exec "$@"`

// test runs a stage for a mutant, or for the unchanged package with number 0, and reports whether it
// passed.
func (s *source) test(ctx context.Context, number int, st stage) (passed bool, out []byte, err error) {
	program, err := s.program(ctx, st)
	if err != nil {
		return false, nil, err
	}
	word := map[bool]string{true: "race"}[st.race]
	c := exec.CommandContext(ctx, "sh", "-c", limits, word, program, "-test.short", "-test.failfast", "-test.timeout=3m", "-test.skip="+st.skip)
	c.Dir = st.dir
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", numberEnv, number))
	c.WaitDelay = 10 * time.Second
	out, err = c.CombinedOutput()
	switch _, failed := errors.AsType[*exec.ExitError](err); {
	case ctx.Err() != nil:
		return false, nil, ctx.Err()
	case failed:
		return false, out, nil
	}
	return err == nil, out, err
}

// survives runs the stages until one fails.
func (s *source) survives(ctx context.Context, number int) (bool, error) {
	for _, st := range s.stages {
		if st.race && !s.mutants[number-1].orders() {
			continue
		}
		passed, _, err := s.test(ctx, number, st)
		if err != nil || !passed {
			return false, err
		}
	}
	return true, nil
}

// check fails unless the first stage passes without a mutant.
func (s *source) check(ctx context.Context) error {
	passed, out, err := s.test(ctx, 0, s.stages[0])
	if err == nil && !passed {
		err = fmt.Errorf("the tests of %s fail without a mutant:\n%s", s.stages[0].dir, out)
	}
	return err
}
