package assigner

import (
	"fmt"
	"sync"

	"github.com/uidring/uidring/bitsalloc"
)

// registry records the worker IDs that generators of this process hold without a fence. It catches
// the most common mistake: a new generator per call, or two generators with one worker ID.
var registry = struct {
	sync.Mutex
	workers map[registryKey]*Registration
}{workers: make(map[registryKey]*Registration)}

type registryKey struct {
	layout               bitsalloc.Layout
	epochMs              int64
	datacenter, workerID int64
}

// A Registration is the entry of one generator in the registry of this process, from [Register] to
// [Registration.End]. Any number of goroutines may use it at once.
type Registration struct {
	key  registryKey
	live bool
	used int64
}

// Register enters the unfenced grant of a generator into the registry of this process and returns
// the grant to use. Its First is above the highest delta that an earlier holder in this process
// used, even if that delta lies far ahead of the clock. Register returns [ErrWorkerInUse] while
// another generator holds the same worker ID of the same layout, epoch and datacenter. It returns a
// fenced grant unchanged, with a nil Registration: the store keeps its holders apart.
//
// The generators of this module call Register themselves. Call it only from a generator of your
// own.
func Register(d Domain, g Grant) (*Registration, Grant, error) {
	if g.Fenced() {
		return nil, g, nil
	}
	key := registryKey{d.Layout, d.Epoch.UnixMilli(), d.DatacenterID, g.WorkerID}
	registry.Lock()
	defer registry.Unlock()
	if last := registry.workers[key]; last != nil {
		if last.live {
			return nil, Grant{}, fmt.Errorf("%w: a generator of this process holds worker %d of datacenter %d; "+
				"share it, close it first, or give one "+
				"of them another DatacenterID", ErrWorkerInUse, g.WorkerID, d.DatacenterID)
		}
		g.First = max(g.First, last.used+1)
	}
	h := &Registration{key: key, live: true, used: g.First - 1}
	registry.workers[key] = h
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
	if h.live {
		h.live = false
		h.used = max(h.used, used)
	}
}
