package sqlassigner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

var (
	errPasses = errors.New("passes")
	errStays  = errors.New("stays")
)

func passes(err error) bool { return errors.Is(err, errPasses) }

func TestRetryRepeatsErrorsThatPass(t *testing.T) {
	for _, tt := range []struct {
		fails []error // the results of the first attempts; then success
		tries int
		want  error
	}{
		{nil, 1, nil},
		{[]error{errPasses, errPasses}, 3, nil},
		{[]error{errStays}, 1, errStays},
		{[]error{errPasses, errPasses, errStays}, 3, errStays},
	} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			tries, err := retry(t.Context(), func() error {
				if calls++; calls <= len(tt.fails) {
					return tt.fails[calls-1]
				}
				return nil
			}, passes)
			if tries != tt.tries || calls != tt.tries || err != tt.want {
				t.Errorf("after %v: %d tries, %d calls, %v; want %d, %v", tt.fails, tries, calls, err, tt.tries, tt.want)
			}
		})
	}
}

func TestRetryEndsWithTheContextAfterGrowingPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := time.Now()
		last := begin
		tries, err := retry(ctx, func() error {
			if pause := time.Since(last); pause > longestPause {
				t.Errorf("pause of %v, at most %v", pause, longestPause)
			}
			last = time.Now()
			return errPasses
		}, passes)
		// Seven pauses grow to the longest, whose mean is half of it.
		if took := time.Since(begin); took != time.Minute || tries < 70 || tries > 300 || err != errPasses {
			t.Errorf("%d tries in %v and %v, want about 125 in a minute and the cause", tries, took, err)
		}
	})
}

// An attempt that fails for lack of time does not hide the cause of the attempt before it.
func TestRetryKeepsTheCause(t *testing.T) {
	for _, last := range []error{fmt.Errorf("driver: %w", context.Canceled), fmt.Errorf("%w: %w", errPasses, os.ErrDeadlineExceeded)} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			calls := 0
			tries, err := retry(ctx, func() error {
				if calls++; calls == 1 {
					return errPasses
				}
				time.AfterFunc(1, cancel)
				if !errors.Is(last, errPasses) {
					cancel()
				}
				return last
			}, passes)
			if tries != 2 || err != errPasses {
				t.Errorf("an attempt that ends with %v: %d tries and %v, want 2 and the cause of the first", last, tries, err)
			}
		})
	}
}
