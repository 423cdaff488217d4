//go:build !race

package ringbuffer_test

const raceDetector = false
