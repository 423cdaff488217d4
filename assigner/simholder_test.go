package assigner

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
)

// A simHolder is a process with a generator. Each of its lives is a coroutine that stops wherever
// something else may happen: between two steps, and on the way to the store and back.
type simHolder struct {
	w        *simWorld
	id       int
	assigner Assigner
	domain   Domain
	offset   int64     // of its clock to the true time
	drift    int64     // in thousandths
	paused   int64     // until this time
	cutOff   int64     // from the store, until this time
	asked    time.Time // the store's clock, as last read
	eager    bool      // composes more than the clock alone asks for
	ahead    int64     // how far a calm holder composes ahead of the clock

	step  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	dead  bool

	// Of a life.
	lease    Lease
	serial   int   // of the lease
	grant    Grant // as the generator knows it
	last     int64 // the newest delta composed, only forward
	renewing bool
	ending   bool  // its release is under way
	heard    int   // the era in which a row was last read or swapped
	proved   int   // and that in which the grant was last proved
	used     int   // deltas composed
	issued   int64 // the highest of them under the lease
	counted  int64 // the counter of worker IDs, as last read
}

func (h *simHolder) clock() int64 {
	return h.w.time + h.offset + (h.w.time-simStart)*h.drift/1000
}

// start begins a life, which knows nothing of the one before, or goes on with a lease that was
// copied.
func (h *simHolder) start(lease Lease, like *simHolder) {
	if h.stop != nil {
		h.stop()
	}
	h.lease, h.grant, h.last, h.renewing, h.ending, h.dead, h.paused = nil, Grant{}, 0, false, false, false, 0
	h.cutOff = 0
	h.assigner.(*leaser).waiting = nil
	h.assigner.(*leaser).losses.Store(0)
	h.assigner.(*leaser).setBack.Store(0)
	if lease != nil {
		h.lease, h.grant, h.last, h.proved, h.serial = lease, like.grant, like.last, like.proved, h.w.newSerial()
	}
	h.step, h.stop = iter.Pull(func(yield func(struct{}) bool) {
		h.yield = yield
		for h.travel() {
			h.live()
		}
	})
}

// travel lets others act. It returns false when the process has been killed meanwhile. The
// generator goes on while a renewal is under way.
func (h *simHolder) travel() bool {
	if h.dead || !h.yield(struct{}{}) {
		h.dead = true
		return false
	}
	if (h.renewing || h.lease == nil) && h.w.chance(40) && h.wants() {
		h.compose()
	}
	return true
}

// live is one step of a process.
func (h *simHolder) live() {
	switch {
	case h.lease == nil:
		h.assign()
	case h.w.healing:
		h.generate()
	case h.w.chance(2), h.w.sim.hasty && h.w.chance(30):
		h.release()
	case h.w.chance(1):
		h.lease, h.grant = nil, Grant{} // Invalidate: not released
	case h.w.chance(5):
		h.last = max(h.last, h.clock()-1) // drop stale deltas
	default:
		h.generate()
	}
}

func (h *simHolder) assign() {
	lease, err := h.assigner.Assign(context.Background(), h.domain)
	if h.dead {
		return
	}
	h.w.log("holder %d: Assign: %v", h.id, err)
	if err != nil {
		h.w.judge(err, ErrWorkerInUse, ErrWorkersExhausted, leasestore.ErrClockSkew, ErrWorkerAheadOfClock, ErrQuarantined)
		return
	}
	h.lease, h.grant, h.proved, h.serial = lease, h.w.sim.grant(lease.Grant()), h.heard, h.w.newSerial()
	h.last, h.issued = max(h.last, h.grant.First-1, h.clock()-1), 0
	if h.grant.Guarantee == GuaranteeFenced { // package backdate uses the past of a new worker ID
		for delta := h.grant.First; delta <= 3; delta++ {
			h.w.use(h, h.grant.WorkerID, delta)
			h.issued = delta
		}
	}
	h.w.log("holder %d: lease %d on worker %d, %d to %d", h.id, h.serial, h.grant.WorkerID, h.grant.First, h.grant.Last)
}

// generate composes as demand and clock have it, and asks for more when half of the window is used.
func (h *simHolder) generate() {
	n := 1
	switch {
	case h.eager:
		n += h.w.rng.IntN(10)
	case h.w.healing:
		h.last = max(h.last, h.clock()-1)
	}
	if h.w.sim.calm {
		n += h.w.rng.IntN(int(h.ahead) + 1)
	}
	for range n {
		if h.wants() {
			h.compose()
		}
	}
	if h.grant.Last-h.last <= h.w.window/2 || h.w.chance(3) {
		h.renew()
	}
}

// wants reports whether demand or clock ask for another delta.
func (h *simHolder) wants() bool {
	switch {
	case h.w.sim.calm:
		return h.last < h.clock()+h.ahead
	case h.renewing, h.lease == nil:
		return true
	}
	return h.eager || h.last < h.clock()
}

// compose uses the next delta, if the grant has it.
func (h *simHolder) compose() {
	if h.last+1 > h.grant.Last+h.w.sim.overrun {
		return
	}
	h.last++
	h.used++
	h.issued = h.last
	h.w.use(h, h.grant.WorkerID, h.last)
}

func (h *simHolder) renew() {
	h.renewing = true
	grant, err := h.lease.Renew(context.Background(), Use{Used: h.last, Want: h.last + h.w.rng.Int64N(8), Oldest: h.last + 1})
	grant = h.w.sim.grant(grant)
	h.renewing = false
	if h.dead {
		return
	}
	h.w.log("holder %d: Renew of worker %d after a use of %d: limit %d, %v", h.id, h.grant.WorkerID, h.last, grant.Last, err)
	switch {
	case err == nil:
		h.proved = h.heard
		h.grant.Last = grant.Last
	case errors.Is(err, ErrWorkerRowLost):
		h.w.losses++
		h.grant.Last = min(h.grant.Last, grant.Last) // still its own, while it looks for another lease
		if errors.Is(err, leasestore.ErrFenceRegressed) || errors.Is(err, leasestore.ErrRowMissing) {
			h.grant = Grant{}
		}
		h.lease = nil
	default:
		h.w.judge(err, leasestore.ErrClockSkew)
	}
}

func (h *simHolder) release() {
	issued := h.issued
	for range h.w.sim.early {
		h.compose()
	}
	h.ending = true
	err := h.lease.End(context.Background(), Ending{Released: true, Used: issued})
	if h.ending = false; h.dead {
		return
	}
	h.w.log("holder %d: Release of worker %d at %d: %v", h.id, h.grant.WorkerID, issued, err)
	if err != nil {
		h.w.judge(err)
		if h.w.sim.undying {
			return // compose goes on; a renewal finds the lease ended
		}
	}
	h.lease, h.grant = nil, Grant{}
}
