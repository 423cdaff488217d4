package process_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/test/process"
)

const roleEnv = "UIDRING_PROCESS_ROLE"

// A role is the work of a child: the child writes a text a number of times and its arguments, all
// at once, and ends with its input.
type role struct {
	Text  string
	Times int
}

func TestMain(m *testing.M) {
	var r role
	if ok, err := process.Role(roleEnv, &r); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	} else if ok {
		fmt.Print(strings.Repeat(r.Text, r.Times) + fmt.Sprint(os.Args[1:]))
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}
	os.Exit(m.Run())
}

func TestPlayRunsAChildUntilItsInputEnds(t *testing.T) {
	c := process.Play(t, roleEnv, role{"ready\n", 1}, "a", "b")
	if line, err := c.Line(); line != "ready" || err != nil {
		t.Fatalf("the child says %q, %v, want ready", line, err)
	}
	if err := c.Stdin.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Wait(); c.Cmd.ProcessState.ExitCode() != 3 || err == nil {
			t.Errorf("ended with %v, want exit status 3", err)
		}
	}
	if line, err := c.Line(); line != "[a b]" || err != io.EOF {
		t.Errorf("the child's last words are %q, %v, want its arguments and the end", line, err)
	}
	c.Kill() // which has nothing to do
}

func TestKillLeavesTheOutput(t *testing.T) {
	c := process.Play(t, roleEnv, role{"line\n", 1000})
	first, err := c.Line()
	if err != nil {
		t.Fatal(err)
	}
	c.Kill()
	lines := 1
	for err == nil {
		if _, err = c.Line(); err == nil {
			lines++
		}
	}
	if c.Cmd.ProcessState.ExitCode() == 3 || first != "line" || lines != 1000 {
		t.Errorf("%v after %d lines %q, want it killed, and 1,000", c.Cmd.ProcessState, lines, first)
	}
}
