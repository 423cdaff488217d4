//go:build race

package ringbuffer_test

// Loads are smaller under the race detector, which makes every atomic operation a call.
const raceDetector = true
