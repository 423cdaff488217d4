//go:build !race && !uidring_nopin && gc && (amd64 || arm64 || loong64 || mips64 || mips64le || ppc64 || ppc64le || riscv64 || s390x)

package cached

import (
	"sync/atomic"
	_ "unsafe" // for linkname
)

// procPin pins the calling goroutine to its CPU (a P of the scheduler): no other goroutine runs
// there until procUnpin. It returns the number of the CPU, below GOMAXPROCS. sync.Pool uses it in
// the same way.
//
//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()

// nextOfCPU is Next in a generator with lanes. It repeats the fast path of takeFromCPU in a single
// frame.
func (g *Generator) nextOfCPU() (int64, error) {
	cpu := procPin()
	if cpu < len(g.lanes) {
		if l := &g.lanes[cpu]; l.last < l.limit {
			l.last++
			id := int64(l.last)
			procUnpin()
			return id, nil
		}
	}
	procUnpin()
	return g.next()
}

// takeFromCPU takes from the lane of the caller's CPU, or from the ring if the CPU has no lane
// because GOMAXPROCS has grown or exceeds Config.Lanes.
func (g *Generator) takeFromCPU() (id int64, ok bool) {
	cpu := procPin()
	if cpu < len(g.lanes) {
		id, ok = g.lanes[cpu].take(g)
		procUnpin()
		return id, ok
	}
	procUnpin()
	return g.ring.Take()
}

// A word of a lane is written by the owner only, except that other goroutines revoke a limit. The
// owner uses plain loads and stores, which cost a fraction of atomic operations. Other goroutines
// see whole values, since a word is as wide as a register.
type word uint64

func (w *word) get() uint64       { return uint64(*w) }
func (w *word) set(x uint64)      { *w = word(x) }
func (w *word) peek() uint64      { return atomic.LoadUint64((*uint64)(w)) }
func (w *word) publish(x uint64)  { atomic.StoreUint64((*uint64)(w), x) }
func (w *word) revoke(old uint64) { atomic.CompareAndSwapUint64((*uint64)(w), old, 0) }

// A cpuLane is the lane of a CPU. The goroutine that is pinned there owns it.
type cpuLane struct {
	lane
	_ [cacheLine]byte
}

// An owner is empty here: lanes_locked.go has the word that the race detector watches.
type owner struct{}

func (*owner) called() {}

// Next is [Generator.Next] on the lane.
func (l *Lane) Next() (id int64, err error) {
	// Compare with the limit before the store: otherwise Stats would count an ID that the limit
	// forbids. The compiler inlines Next in this form.
	if l.last < l.limit {
		l.last++
	} else {
		err = l.more()
	}
	return int64(l.last), err
}
