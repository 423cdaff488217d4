package check_test

import (
	"errors"
	"io"
	"testing"

	"github.com/uidring/uidring/internal/check"
)

func TestCheckerAddsNoNilError(t *testing.T) {
	var c check.Checker
	c.Add("Layout", 1, nil)
	if err := c.Err(); err != nil {
		t.Errorf("Err = %v, want nil", err)
	}
}

// A joined error keeps the mistakes before it, and its own ones apart.
func TestJoinKeepsAllMistakes(t *testing.T) {
	var c check.Checker
	c.Check(false, "Step", 0, "at least %d", 1)
	c.Join("Assigner", errors.Join(io.EOF, io.ErrNoProgress))
	c.Join("Assigner", io.ErrClosedPipe)
	c.Join("Assigner", nil)
	all := c.Err().(interface{ Unwrap() []error }).Unwrap()
	if len(all) != 4 || all[1] != io.EOF || all[2] != io.ErrNoProgress || !errors.Is(all[3], io.ErrClosedPipe) {
		t.Errorf("mistakes %q, want 4", all)
	}
}
