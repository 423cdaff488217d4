// Package cleanup closes the resources of a test.
package cleanup

import (
	"io"
	"testing"
)

// Close returns c, and closes it when the test ends. It ends the test if err is not nil, and fails
// it if the call of c's Close returns an error.
func Close[C io.Closer](t testing.TB, c C, err error) C {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}
