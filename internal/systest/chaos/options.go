package chaos

import (
	"math/bits"
	"math/rand/v2"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

const (
	processes = 16 // at a time
	workers   = 6  // worker IDs that they share
)

// options configure a run.
type options struct {
	duration time.Duration // from 40 s: less has no room for one of everything that is required
	flush    int           // the server's innodb_flush_log_at_trx_commit; 1 is the durable one
	seed     uint64
}

func (o options) durable() bool { return o.flush == 1 }

// random is the source of one goroutine.
func (o options) random(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(o.seed, stream)) }

// layout has short units, so that much happens in one lease, and room for 80,000 IDs a second and
// worker ID at the pace of the clock: some processes are slower than that, some run ahead of the
// clock.
func layout() bitsalloc.Layout {
	return bitsalloc.Layout{DeltaBits: 36, WorkerBits: uint8(bits.Len(workers - 1)), SequenceBits: 13, Unit: 100 * time.Millisecond}
}

func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)))
}
