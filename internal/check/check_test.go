package check_test

import (
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
