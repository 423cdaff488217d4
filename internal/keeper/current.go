package keeper

import (
	"math"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
)

// A Lease is what the generator may use at present: the grant of a lease, and what padding has to
// know of it. It is immutable.
type Lease struct {
	assigner.Grant
	Generation uint64     // counts the leases taken; a renewal keeps it
	Begin      *sync.Once // does Config.Begin; a generator that needs it does it before its first ID of the term
	Clock      Clock      // the reading that the lease was checked against, or an earlier one where that is ahead
	Delta      int64      // by the clock that the lease was checked against, when it was taken
	Half       int64      // the generator asks for more when it uses this delta, long before Limit

	at       time.Time // of the last call of grow, which found position; the pace is counted from there
	position int64
	rate     float64 // of ID time to real time before it, 1 at least
	lost     bool    // the lease has ended, and the grant may be used up
}

// grow moves the limit, and puts Half between it and position.
func (h *Lease) grow(position, limit int64, unit time.Duration) {
	now := time.Now()
	h.rate = h.pace(position, now, unit)
	h.at, h.position, h.Limit = now, position, limit
	h.Half = math.MaxInt64
	if h.Fenced() {
		h.Half = position + (limit-position)/2
	}
}

// Window is the ID time between position and the limit, or 0 when there is none.
func (h *Lease) Window(position int64, alloc *bitsalloc.Allocator) time.Duration {
	if !h.Fenced() || h.Limit <= position {
		return 0
	}
	return alloc.Time(h.Limit).Sub(alloc.Time(position))
}

// pace is the rate of ID time to real time since the last call of grow, or before it where that was
// just now.
func (h *Lease) pace(position int64, now time.Time, unit time.Duration) float64 {
	elapsed := now.Sub(h.at)
	if h.at.IsZero() || elapsed < time.Second {
		return max(h.rate, 1)
	}
	return max(float64(position-h.position)*float64(unit)/float64(elapsed), 1)
}

// WindowLasts is the real time that Window lasts at the present pace.
func (h *Lease) WindowLasts(position int64, alloc *bitsalloc.Allocator) time.Duration {
	return time.Duration(float64(h.Window(position, alloc)) / h.pace(position, time.Now(), alloc.Layout().Unit))
}

// Window returns what is left of the current lease at a position: ID time, and the real time that
// it lasts. Both are 0 when no worker ID is held.
func (k *Keeper) Window(position int64, alloc *bitsalloc.Allocator) (left, lasts time.Duration) {
	h := k.Current()
	if h == nil {
		return 0, 0
	}
	return h.Window(position, alloc), h.WindowLasts(position, alloc)
}
