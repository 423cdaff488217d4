//go:build race

package cached_test

// scaled makes a count smaller, since every ID takes many times as long under the race detector.
func scaled(n int) int { return n / 20 }
