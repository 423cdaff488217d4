package cached

import (
	"runtime"
	"sync"
)

// cacheLine is the padding between the lanes of two CPUs: a cache line and the neighbour that the
// CPU prefetches, in bytes.
const cacheLine = 128

// newLanes returns the lanes for Config.Lanes; nil: no lanes.
func newLanes(n int) []cpuLane {
	switch {
	case n == LanePerCPU:
		return make([]cpuLane, max(runtime.NumCPU(), runtime.GOMAXPROCS(0)))
	case n > 1:
		return make([]cpuLane, n)
	}
	return nil
}

// handles are the lanes of goroutines.
type handles struct {
	mu      sync.Mutex
	lanes   map[*Lane]struct{}
	retired uint64 // IDs that closed lanes dropped
}

func (h *handles) add(l *Lane) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lanes == nil {
		h.lanes = make(map[*Lane]struct{})
	}
	h.lanes[l] = struct{}{}
}

// remove forgets a lane that has dropped the rest of its block.
func (h *handles) remove(l *Lane) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.lanes, l)
	h.retired += l.count(l.g).retired
}

// eachLane calls f for every lane. The caller holds handles.mu, so no Lane is made or closed
// meanwhile.
func (g *Generator) eachLane(f func(*lane)) {
	for i := range g.lanes {
		f(&g.lanes[i].lane)
	}
	for l := range g.handles.lanes {
		f(&l.lane)
	}
}

// inLanes returns the sum of all lanes, including closed lanes.
func (g *Generator) inLanes() count {
	g.handles.mu.Lock()
	defer g.handles.mu.Unlock()
	sum := count{retired: g.handles.retired}
	g.eachLane(func(l *lane) { sum.add(l.count(g)) })
	return sum
}

// retireLanes retires the blocks in lanes whose last ID is cut or below. The caller holds running.
func (g *Generator) retireLanes(cut uint64) {
	if cut <= g.cut.Load() {
		return
	}
	// Raise cut before visiting the lanes: a lane that begins a block after its visit finds cut
	// raised.
	g.cut.Store(cut)
	g.handles.mu.Lock()
	defer g.handles.mu.Unlock()
	g.eachLane(func(l *lane) { l.retire(cut) })
}
