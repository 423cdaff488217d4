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

func TestRetryRepeatsWhatPassesAndNothingElse(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fails []error // the results of the first attempts; then success
		tries int
		want  error
	}{
		{"at once", nil, 1, nil},
		{"third time", []error{errPasses, errPasses}, 3, nil},
		{"final", []error{errStays}, 1, errStays},
		{"final later", []error{errPasses, errPasses, errStays}, 3, errStays},
	} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			tries, err := retry(t.Context(), func() error {
				calls++
				if calls <= len(tt.fails) {
					return tt.fails[calls-1]
				}
				return nil
			}, passes)
			if tries != tt.tries || calls != tt.tries || !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
				t.Errorf("%s: %d tries, %d calls, %v; want %d, %v", tt.name, tries, calls, err, tt.tries, tt.want)
			}
		})
	}
}

func TestRetryEndsWithTheContextAndKeepsTheCause(t *testing.T) {
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
		if took := time.Since(begin); took != time.Minute {
			t.Errorf("took %v, want a minute", took)
		}
		// Seven pauses grow to the longest, whose mean is half of it; far fewer or more would say
		// that they do not grow.
		if tries < 70 || tries > 300 || err != errPasses {
			t.Errorf("%d tries and %v, want about 125 and the cause", tries, err)
		}
	})
	for name, end := range map[string]func(cancel context.CancelFunc) error{
		"after it": func(cancel context.CancelFunc) error { cancel(); return fmt.Errorf("driver: %w", context.Canceled) },
		// The context ends while retry waits.
		"just before": func(cancel context.CancelFunc) error {
			time.AfterFunc(1, cancel)
			return fmt.Errorf("%w: %w", errPasses, os.ErrDeadlineExceeded)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			calls := 0
			tries, err := retry(ctx, func() error {
				if calls++; calls == 1 {
					return errPasses
				}
				return end(cancel)
			}, passes)
			if tries != 2 || err != errPasses {
				t.Errorf("an attempt that ends %s: %d tries and %v, want 2 and the cause of the first", name, tries, err)
			}
		})
	}
}
