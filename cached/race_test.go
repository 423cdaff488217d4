//go:build race

package cached_test

// scaled makes a count smaller where every ID costs many times what it costs otherwise.
func scaled(n int) int { return n / 20 }
