// Package bubble runs subtests with a clock of their own.
package bubble

import (
	"testing"
	"testing/synctest"
)

// Run runs a subtest in a bubble of package synctest.
func Run(t *testing.T, name string, test func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}
