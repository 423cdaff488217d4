package throttle

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestEpisodeEndsWithAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e Episode
		for _, step := range []struct {
			pause time.Duration
			want  bool
		}{{0, true}, {0, false}, {time.Minute, false}, {time.Minute, false}, {time.Minute + 1, true}, {time.Second, false}} {
			time.Sleep(step.pause)
			if got := e.Begins(); got != step.want {
				t.Errorf("after %v: %v, want %v", step.pause, got, step.want)
			}
		}
	})
}

func TestTallyReportsEachMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tally Tally
		var reports []int64
		for range 150 { // one each second, from 0 to 149
			if n := tally.Add(); n > 0 {
				reports = append(reports, n)
			}
			time.Sleep(time.Second)
		}
		if len(reports) != 3 || reports[0] != 1 || reports[1] != 60 || reports[2] != 60 {
			t.Errorf("reports of %v, want 1, 60, 60", reports)
		}
	})
}
