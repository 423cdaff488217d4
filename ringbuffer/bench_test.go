package ringbuffer_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/internal/original"
	"github.com/uidring/uidring/internal/testkit/baseline"
	"github.com/uidring/uidring/ringbuffer"
)

// Times mean little on their own: compare with the atomic add and the mutex of the same run. A take
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

// parallel calls op on GOMAXPROCS goroutines.
func parallel(b *testing.B, op func()) {
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			op()
		}
	})
}

func BenchmarkAtomicAdd(b *testing.B) { baseline.AtomicAdd(b) }

func BenchmarkAtomicAddParallel(b *testing.B) { baseline.AtomicAddParallel(b) }

func BenchmarkMutex(b *testing.B) { baseline.Mutex(b) }

func BenchmarkMutexParallel(b *testing.B) { baseline.MutexParallel(b) }

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

// padded is the original's ring of 65,536 IDs with its padding: a goroutine that is woken by every
// take below half, and that puts 8,192 IDs at a time until none fits.
func padded(b *testing.B) (take func(), report func()) {
	const size, second = 1 << 16, 1 << 13
	wake := make(chan struct{}, 1)
	r := original.New(size, size/2, func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	var empty atomic.Int64
	next := int64(0)
	pad := func() {
		for full := false; !full; {
			for range second {
				next++
				full = !r.Put(next) || full
			}
		}
	}
	pad()
	var padder sync.WaitGroup
	padder.Go(func() {
		for range wake {
			pad()
		}
	})
	take = func() {
		for {
			if _, err := r.Take(); err == nil {
				return
			}
			empty.Add(1)
		}
	}
	report = func() {
		b.ReportMetric(float64(empty.Load())/float64(b.N), "empty/op")
		close(wake)
		padder.Wait()
	}
	return take, report
}

func BenchmarkOriginal(b *testing.B) {
	take, report := padded(b)
	for b.Loop() {
		take()
	}
	report()
}

func BenchmarkOriginalParallel(b *testing.B) {
	take, report := padded(b)
	parallel(b, take)
	report()
}
