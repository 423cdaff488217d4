//go:build !race

package cached_test

import "testing"

// scaled makes a count smaller where time is short.
func scaled(n int) int {
	if testing.Short() {
		return n / 20
	}
	return n
}
