package defaultgen_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/fakeassigner"
)

// A renewal moves an idle generator on to the unit before the clock's. A reading beyond the grant
// and a clock that went back do not count.
func TestRenewalMovesAnIdleGeneratorOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var off atomic.Int64 // nanoseconds
		epoch := time.Now()
		oldest := new(atomic.Int64)
		open(t, defaultgen.Config{Epoch: epoch, Now: func() time.Time { return time.Now().Add(time.Duration(off.Load())) },
			Assigner: &fakeassigner.Assigner{Oldest: oldest, Within: 10 * time.Second, OnAssign: fakeassigner.Fenced(1000)}})
		for _, step := range []struct {
			off  time.Duration
			want int64
		}{{0, 9}, {0, 19}, {-15 * time.Second, 19}, {time.Hour, 19}, {0, 49}} {
			off.Store(int64(step.off))
			time.Sleep(10 * time.Second)
			synctest.Wait()
			if got := oldest.Load(); got != step.want {
				t.Errorf("after %v with a clock that is off by %v: oldest delta %d, want %d", time.Since(epoch), step.off, got, step.want)
			}
		}
	})
}
