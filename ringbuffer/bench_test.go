package ringbuffer_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/ringbuffer"
)

// Times mean little on their own: compare with the atomic add of the same run. A take
// from an empty ring costs next to nothing, so takers count the IDs they got and fill the ring
// themselves when it is empty. empty/op reports how often.

// A refilled ring has 8 blocks of 8,192 IDs and is filled whenever the next one begins.
type refilled struct {
	*ringbuffer.Ring
	filling sync.Mutex
	next    int64
	empty   atomic.Int64
}

const blockSize = 1 << 13

func newRefilled(b *testing.B) *refilled {
	f := &refilled{next: 1}
	r, err := ringbuffer.New(8, func(int) {
		if f.filling.TryLock() {
			f.fill()
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	f.Ring = r
	f.filling.Lock()
	f.fill()
	return f
}

// fill fills all free slots and unlocks filling.
func (f *refilled) fill() {
	defer f.filling.Unlock()
	for f.Free() > 0 {
		f.Put(f.next, f.next+blockSize-1)
		f.next += blockSize
	}
}

func (f *refilled) refill() {
	f.empty.Add(1)
	f.filling.Lock()
	f.fill()
}

func (f *refilled) take() {
	for {
		if _, ok := f.Take(); ok {
			return
		}
		f.refill()
	}
}

func (f *refilled) takeN(dst []int64) {
	for n := f.TakeN(dst); n < len(dst); n += f.TakeN(dst[n:]) {
		f.refill()
	}
}

// report says how often the ring was empty, and checks that every operation got its IDs.
func (f *refilled) report(b *testing.B, idsPerOp int) {
	b.ReportMetric(float64(f.empty.Load())/float64(b.N), "empty/op")
	if got, want := f.Counts().Issued, uint64(b.N)*uint64(idsPerOp); got < want {
		b.Errorf("%d IDs were issued in %d operations of %d", got, b.N, idsPerOp)
	}
	if idsPerOp > 1 {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(idsPerOp), "ns/ID")
	}
}

// An atomic add is the least that an ordered stream of numbers costs.
func BenchmarkAtomicAdd(b *testing.B) {
	n := new(atomic.Uint64)
	for b.Loop() {
		n.Add(1)
	}
}

func BenchmarkAtomicAddParallel(b *testing.B) {
	n := new(atomic.Uint64)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			n.Add(1)
		}
	})
}

func BenchmarkTake(b *testing.B) {
	f := newRefilled(b)
	for b.Loop() {
		f.take()
	}
	f.report(b, 1)
}

func BenchmarkTakeParallel(b *testing.B) {
	f := newRefilled(b)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			f.take()
		}
	})
	f.report(b, 1)
}

func BenchmarkTakeN256(b *testing.B) {
	f := newRefilled(b)
	dst := make([]int64, 256)
	for b.Loop() {
		f.takeN(dst)
	}
	f.report(b, len(dst))
}

func BenchmarkTakeN256Parallel(b *testing.B) {
	f := newRefilled(b)
	b.RunParallel(func(pb *testing.PB) {
		dst := make([]int64, 256)
		for pb.Next() {
			f.takeN(dst)
		}
	})
	f.report(b, 256)
}
