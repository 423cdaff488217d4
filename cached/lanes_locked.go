//go:build race || uidring_nopin || !gc || !(amd64 || arm64 || loong64 || mips64 || mips64le || ppc64 || ppc64le || riscv64 || s390x)

package cached

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// nextOfCPU is Next in a generator with lanes.
func (g *Generator) nextOfCPU() (int64, error) { return g.next() }

// takeFromCPU takes from a lane that is not locked, or from the ring if all are.
func (g *Generator) takeFromCPU() (id int64, ok bool) {
	start := rand.IntN(len(g.lanes))
	for i := range g.lanes {
		l := &g.lanes[(start+i)%len(g.lanes)]
		if l.mu.TryLock() {
			defer l.mu.Unlock()
			return l.take(g)
		}
	}
	return g.ring.Take()
}

// A word of a lane is written by the owner only, except that other goroutines revoke a limit.
type word struct{ value atomic.Uint64 }

func (w *word) get() uint64       { return w.value.Load() }
func (w *word) set(x uint64)      { w.value.Store(x) }
func (w *word) peek() uint64      { return w.value.Load() }
func (w *word) publish(x uint64)  { w.value.Store(x) }
func (w *word) revoke(old uint64) { w.value.CompareAndSwap(old, 0) }

// A cpuLane is the lane of a CPU. The goroutine that has locked mu owns it.
type cpuLane struct {
	lane
	mu sync.Mutex
	_  [cacheLine]byte
}

// An owner is a word without synchronization that every call of a Lane writes last. The race
// detector reports two goroutines that write it. It does not report the words of the lane: they are
// atomic, which it takes for synchronization.
type owner struct{ calls uint64 }

func (o *owner) called() { o.calls++ }

// Next is [Generator.Next] on the lane.
func (l *Lane) Next() (id int64, err error) {
	if x := l.last.get(); x < l.limit.get() {
		l.last.set(x + 1)
	} else {
		err = l.more()
	}
	id = int64(l.last.get())
	l.owner.called()
	return id, err
}
