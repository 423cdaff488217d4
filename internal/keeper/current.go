package keeper

import (
	"math"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
)

// A Lease is the grant that the generator may use at present, with the state that padding needs. It
// is immutable.
type Lease struct {
	assigner.Grant
	Generation uint64     // number of the lease; a renewal keeps it
	Begin      *sync.Once // does Config.Begin; a generator that needs it does it before its first ID of the term
	Clock      Clock      // the reading that the lease was checked against, or an earlier reading if that is ahead
	Delta      int64      // by that clock, when the lease was taken
	Half       int64      // on using this delta the generator calls Extend, long before Limit

	at       time.Time // time of the last call of grow, with position; pace measures from there
	position int64
	rate     float64 // ID time per real time before at, at least 1
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

// Window returns the ID time between position and the limit, or 0 without a fence or at the limit.
func (h *Lease) Window(position int64, alloc *bitsalloc.Allocator) time.Duration {
	if !h.Fenced() || h.Limit <= position {
		return 0
	}
	return alloc.Time(h.Limit).Sub(alloc.Time(position))
}

// pace returns the ID time per real time since the last call of grow, or before it if that was less
// than a second ago.
func (h *Lease) pace(position int64, now time.Time, unit time.Duration) float64 {
	elapsed := now.Sub(h.at)
	if h.at.IsZero() || elapsed < time.Second {
		return max(h.rate, 1)
	}
	return max(float64(position-h.position)*float64(unit)/float64(elapsed), 1)
}

// WindowLasts returns the real time that Window lasts at the present pace.
func (h *Lease) WindowLasts(position int64, alloc *bitsalloc.Allocator) time.Duration {
	return time.Duration(float64(h.Window(position, alloc)) / h.pace(position, time.Now(), alloc.Layout().Unit))
}

// Window returns the ID time left of the current lease at a position, and the real time that it
// lasts. Both are 0 when no worker ID is held.
func (k *Keeper) Window(position int64, alloc *bitsalloc.Allocator) (left, lasts time.Duration) {
	h := k.Current()
	if h == nil {
		return 0, 0
	}
	return h.Window(position, alloc), h.WindowLasts(position, alloc)
}
