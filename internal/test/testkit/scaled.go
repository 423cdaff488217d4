package testkit

import "testing"

// Scaled returns n, or a tenth of it in short mode and under the race detector, which makes every
// atomic operation a call.
func Scaled(n int) int {
	if raceDetector || testing.Short() {
		return n / 10
	}
	return n
}
