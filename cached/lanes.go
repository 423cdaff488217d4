package cached

import (
	"runtime"
	"sync"
)

// cacheLine keeps the lanes of two CPUs apart, prefetched neighbours included.
const cacheLine = 128

// newLanes makes the lanes that Config.Lanes asks for; none for a single stream.
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
	retired uint64 // IDs of lanes that are no more
}

func (h *handles) add(l *Lane) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lanes == nil {
		h.lanes = make(map[*Lane]struct{})
	}
	h.lanes[l] = struct{}{}
}

// remove forgets a lane that has dropped what was left.
func (h *handles) remove(l *Lane) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.lanes, l)
	_, retired := l.counts()
	h.retired += retired
}

// eachLane calls f for every lane there is. Lanes come and go only before and after it.
func (g *Generator) eachLane(f func(*lane)) {
	g.handles.mu.Lock()
	defer g.handles.mu.Unlock()
	g.eachLaneLocked(f)
}

func (g *Generator) eachLaneLocked(f func(*lane)) {
	for i := range g.lanes {
		f(&g.lanes[i].lane)
	}
	for l := range g.handles.lanes {
		f(&l.lane)
	}
}

// inLanes returns how many IDs are left in all lanes, and how many were dropped there.
func (g *Generator) inLanes() (left, retired uint64) {
	g.handles.mu.Lock()
	defer g.handles.mu.Unlock()
	retired = g.handles.retired // of lanes that are not visited
	g.eachLaneLocked(func(l *lane) {
		n, gone := l.counts()
		left += n
		retired += gone
	})
	return left, retired
}

// retireLanes drops the runs in lanes that end at cut or below. The caller holds running.
func (g *Generator) retireLanes(cut uint64) {
	if cut > g.cut.Load() {
		g.cut.Store(cut) // first: a lane may be taking a run from the ring
		g.eachLane(func(l *lane) { l.retire(cut) })
	}
}
