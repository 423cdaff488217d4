package ringbuffer_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/uidring/uidring/internal/test/gauge"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/ringbuffer"
)

func BenchmarkTake(b *testing.B) {
	r := endless(b)
	gauge.Measure(b, gauge.Shared(func(n int) (last int64, err error) {
		for range n {
			id, ok := r.Take()
			for ; !ok; id, ok = r.Take() {
				runtime.Gosched()
			}
			last = id
		}
		return last, nil
	}, gauge.Nothing))
}

func BenchmarkAtomicAdd(b *testing.B) { gauge.Measure(b, gauge.CalledAdd()) }

// endless returns a ring of 8 blocks of 8,192 IDs. The take that begins a block fills the ring.
func endless(b *testing.B) (r *ringbuffer.Ring) {
	const size = 1 << 13
	var producer sync.Mutex
	next := int64(1)
	pad := func(int) {
		producer.Lock()
		defer producer.Unlock()
		for ; r.Put(next, next+size-1); next += size {
		}
	}
	r, err := ringbuffer.New(8, pad)
	testkit.Must(b, err)
	pad(0)
	return r
}
