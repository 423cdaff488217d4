package assigner

import (
	"fmt"
	"sync"

	"github.com/uidring/uidring/bitsalloc"
)

// The registry knows the worker IDs that generators of this process hold without a fence. Building
// a generator per call, or two with one worker ID, is the commonest mistake in the field.
var registry = struct {
	sync.Mutex
	workers map[registryKey]*Registration
}{workers: make(map[registryKey]*Registration)}

type registryKey struct {
	layout               bitsalloc.Layout
	epochMs              int64
	datacenter, workerID int64
}

// A Registration is the place of one generator in the registry of this process, from [Register] to
// [Registration.End]. Any number of goroutines may use it at once.
type Registration struct {
	key  registryKey
	live bool
	used int64
}

// Register enters the unfenced grant of a generator into the registry of this process and returns
// the grant to use: one that starts above the highest delta that an earlier holder in this process
// put to use, however far ahead of the clock that was. While another generator holds the same
// worker ID of the same layout, epoch and datacenter it returns [ErrWorkerInUse]. A fenced grant is
// returned as it is, with a nil Registration: its store keeps holders apart.
//
// The generators of this module call Register themselves. Only a generator that is built on this
// package elsewhere has to.
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

// End says that the generator has stopped and that used is the highest delta it put to use. It
// frees the worker ID for the next generator. Calling it on a nil Registration, or again, does
// nothing.
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
