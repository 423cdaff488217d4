package httpapi

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestEpisodeEndsWithAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e episode
		for _, step := range []struct {
			pause time.Duration
			want  bool
		}{{0, true}, {0, false}, {time.Minute, false}, {time.Minute, false}, {time.Minute + 1, true}, {time.Second, false}} {
			time.Sleep(step.pause)
			if got := e.begins(); got != step.want {
				t.Errorf("after %v: %v, want %v", step.pause, got, step.want)
			}
		}
	})
}
