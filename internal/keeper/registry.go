package keeper

import (
	"fmt"
	"sync"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
)

// registry has an entry for each worker ID that generators of this process hold, or have held,
// without a fence. It catches the most common mistake: a new generator per call, or two
// generators with one worker ID. An entry stays, and still protects its worker ID: the clock may
// go back below its last delta, and a store that went back may give out a worker ID of
// Disposable again. There are at most as many entries as the layout has worker IDs.
var (
	registry   = make(map[registryKey]*Registration)
	registryMu sync.Mutex
)

type registryKey struct {
	layout                        bitsalloc.Layout
	epochMs, datacenter, workerID int64
}

// A Registration is the entry of one generator in the registry of this process, from [Register] to
// [Registration.End]. Any number of goroutines may use it at once.
type Registration struct {
	live bool
	used int64
}

// Register enters the unfenced grant of a generator into the registry of this process and returns
// the grant to use. Its First is above the highest delta that an earlier holder in this process
// used, even if that delta lies far ahead of the clock. Register returns ErrWorkerInUse while
// another generator holds the same worker ID of the same layout, epoch and datacenter. It returns a
// fenced grant unchanged, with a nil Registration: the store keeps its holders apart.
func Register(d assigner.Domain, g assigner.Grant) (*Registration, assigner.Grant, error) {
	if g.Fenced() {
		return nil, g, nil
	}
	key := registryKey{d.Layout, d.Epoch.UnixMilli(), d.DatacenterID, g.WorkerID}
	registryMu.Lock()
	defer registryMu.Unlock()
	if last := registry[key]; last != nil {
		if last.live {
			return nil, assigner.Grant{}, fmt.Errorf("%w: a generator of this process holds worker %d of datacenter %d; "+
				"share it, close it first, or give one of them another DatacenterID", assigner.ErrWorkerInUse, g.WorkerID, d.DatacenterID)
		}
		g.First = max(g.First, last.used+1)
	}
	registry[key] = &Registration{live: true, used: g.First - 1}
	return registry[key], g, nil
}

// End reports that the generator has stopped and that used is the highest delta of which it issued
// IDs. It frees the worker ID for the next generator. On a nil Registration, and when called again,
// it does nothing.
func (r *Registration) End(used int64) {
	if r == nil {
		return
	}
	registryMu.Lock()
	defer registryMu.Unlock()
	if r.live {
		r.live, r.used = false, max(r.used, used)
	}
}
