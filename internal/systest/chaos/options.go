package chaos

import (
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// options configure a run.
type options struct {
	duration  time.Duration
	processes int // at a time
	workers   int // worker IDs that they share
	flush     int // the server's innodb_flush_log_at_trx_commit; 1 is the durable one
	seed      uint64
}

// check reports all mistakes.
func (o options) check() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(o.duration >= leastDuration, "duration %v, allowed: %v or more", o.duration, leastDuration)
	check(o.workers >= 1 && o.workers <= 64, "%d worker IDs, allowed: 1 to 64", o.workers)
	check(o.processes > o.workers && o.processes <= 256, "%d processes, allowed: more than there are worker IDs (%d), up to 256",
		o.processes, o.workers)
	check(o.flush >= 0 && o.flush <= 2, "flush %d, allowed: 0, 1, 2", o.flush)
	return errors.Join(errs...)
}

// leastDuration has room for one of everything that is required to happen.
const leastDuration = 40 * time.Second

func (o options) durable() bool { return o.flush == 1 }

// layout has short units, so that much happens in one lease, and room for 80,000 IDs a second and
// worker ID at the pace of the clock: some processes are slower than that, some run ahead of the
// clock.
func (o options) layout() bitsalloc.Layout {
	return bitsalloc.Layout{DeltaBits: 36, WorkerBits: uint8(bits.Len(uint(o.workers - 1))), SequenceBits: 13, Unit: 100 * time.Millisecond}
}

// random is the source of one goroutine.
func (o options) random(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(o.seed, stream)) }

func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)))
}
