//go:build !race && !uidring_nopin && gc && (amd64 || arm64 || loong64 || mips64 || mips64le || ppc64 || ppc64le || riscv64 || s390x)

package cached

import (
	"sync/atomic"
	_ "unsafe" // for linkname
)

// procPin keeps the calling goroutine on its CPU, in the sense of the scheduler: no other goroutine
// runs there until procUnpin. It returns the number of the CPU, below GOMAXPROCS. It is what
// sync.Pool is made of.
//
//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()

// takeFromCPU takes from the lane of the CPU that the caller runs on. CPUs that have none, since
// GOMAXPROCS has grown or Lanes is less, take from the ring.
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

// A word of a lane is written by its owner alone, who is pinned, or a goroutine by itself, except
// that others revoke a limit. A load or store that is no atomic operation is enough for the owner,
// and costs a fraction. Others see whole values, since a word is as wide as a register.
type word uint64

func (w *word) get() uint64       { return uint64(*w) }
func (w *word) set(x uint64)      { *w = word(x) }
func (w *word) peek() uint64      { return atomic.LoadUint64((*uint64)(w)) }
func (w *word) publish(x uint64)  { atomic.StoreUint64((*uint64)(w), x) }
func (w *word) revoke(old uint64) { atomic.CompareAndSwapUint64((*uint64)(w), old, 0) }

// A cpuLane is the lane of a CPU. Who is pinned there owns it.
type cpuLane struct {
	lane
	_ [cacheLine]byte
}

// An owner is a field of the race detector's builds.
type owner struct{}

func (*owner) called() {}

// Next is [Generator.Next] on the lane.
func (l *Lane) Next() (id int64, err error) {
	// The look at the limit before the store: Stats would count an ID that the limit forbids.
	// The compiler inlines Next in this form.
	if l.last < l.limit {
		l.last++
	} else {
		err = l.more()
	}
	return int64(l.last), err
}
