package keeper

import (
	"fmt"
	"sync"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
)

// registry records the worker IDs that generators of this process hold without a fence. It catches
// the most common mistake: a new generator per call, or two generators with one worker ID.
var registry = struct {
	sync.Mutex
	domains map[domainKey]*registered
}{domains: make(map[domainKey]*registered)}

type domainKey struct {
	layout     bitsalloc.Layout
	epochMs    int64
	datacenter int64
}

// registered are the worker IDs of a domain: an entry for each generator that lives or has ended.
// An entry still protects its worker ID after the end: the clock may go back below its last delta,
// and a store that went back may give out a worker ID of Disposable again.
//
// If there are too many, the entries of ended generators are dropped, and first becomes the delta
// above all of theirs: a worker ID without an entry begins there.
type registered struct {
	workers map[int64]*Registration
	first   int64
}

// remembered is the number of entries beyond which an end drops the entries of ended generators.
const remembered = 1024

// A Registration is the entry of one generator in the registry of this process, from [Register] to
// [Registration.End]. Any number of goroutines may use it at once.
type Registration struct {
	domain   *registered
	workerID int64
	live     bool
	used     int64
}

// Register enters the unfenced grant of a generator into the registry of this process and returns
// the grant to use. Its First is above the highest delta that an earlier holder in this process
// used, even if that delta lies far ahead of the clock. After more than 1,024 worker IDs of a
// layout, epoch and datacenter, First may be above the last delta of other worker IDs as well.
// Register returns ErrWorkerInUse while another generator holds the same worker ID of the same
// layout, epoch and datacenter. It returns a fenced grant unchanged, with a nil Registration: the
// store keeps its holders apart.
func Register(d assigner.Domain, g assigner.Grant) (*Registration, assigner.Grant, error) {
	if g.Fenced() {
		return nil, g, nil
	}
	key := domainKey{d.Layout, d.Epoch.UnixMilli(), d.DatacenterID}
	registry.Lock()
	defer registry.Unlock()
	r := registry.domains[key]
	if r == nil {
		r = &registered{workers: make(map[int64]*Registration)}
		registry.domains[key] = r
	}
	last := r.workers[g.WorkerID]
	switch {
	case last == nil:
		g.First = max(g.First, r.first)
	case last.live:
		return nil, assigner.Grant{}, fmt.Errorf("%w: a generator of this process holds worker %d of datacenter %d; "+
			"share it, close it first, or give one of them another DatacenterID", assigner.ErrWorkerInUse, g.WorkerID, d.DatacenterID)
	default:
		g.First = max(g.First, last.used+1)
	}
	h := &Registration{domain: r, workerID: g.WorkerID, live: true, used: g.First - 1}
	r.workers[g.WorkerID] = h
	return h, g, nil
}

// End reports that the generator has stopped and that used is the highest delta of which it issued
// IDs. It frees the worker ID for the next generator. On a nil Registration, and when called again,
// it does nothing.
func (h *Registration) End(used int64) {
	if h == nil {
		return
	}
	registry.Lock()
	defer registry.Unlock()
	if !h.live {
		return
	}
	h.live, h.used = false, max(h.used, used)
	if r := h.domain; len(r.workers) > remembered {
		for worker, ended := range r.workers {
			if !ended.live {
				r.first = max(r.first, ended.used+1)
				delete(r.workers, worker)
			}
		}
	}
}
