package poll_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/internal/test/poll"
)

// recorder is a test that records how it ended.
type recorder struct {
	testing.TB
	text string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.text = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestUntilFailsAtTheDeadline(t *testing.T) {
	for after, want := range map[time.Duration]string{
		poll.Patience - time.Second: "",
		poll.Patience + time.Second: "a start: not within 3m0s: not yet",
	} {
		synctest.Test(t, func(t *testing.T) {
			r, began, done := new(recorder), time.Now(), make(chan struct{})
			go func() {
				defer close(done)
				poll.Until(r, "a start", func() bool { return time.Since(began) >= after })
			}()
			<-done
			if took := time.Since(began); r.text != want || took != min(after, poll.Patience) {
				t.Errorf("event after %v: %q after %v, want %q", after, r.text, took, want)
			}
		})
	}
}
