package bitsalloc

import (
	"math"
	"time"
)

// MinAt returns the smallest ID of the unit that t lies in. A query for all IDs since then is
//
//	WHERE id >= MinAt(t)
//
// and one for those between two instants, the units of both included, is
//
//	WHERE id BETWEEN MinAt(from) AND MaxAt(to)
//
// Both also hold where the layout has no such unit. Up to the epoch MinAt is 1, the smallest ID.
// After the last unit, or the year 9999, it is one more than the largest ID; where that is no
// int64, as all 63 bits are in use, it is the largest ID. [Allocator.Range] is exact there, too.
//
// The time in an ID may differ from when it was issued by what the generator allows: with package
// cached by MaxStaleness and MaxAhead. Widen what you look for by these.
func (a *Allocator) MinAt(t time.Time) int64 {
	switch {
	case t.Before(a.epoch):
		return 1
	case a.over(t):
		return int64(min(1<<a.allBits, uint64(math.MaxInt64)))
	}
	return max(1, a.Delta(t)<<a.deltaShift) // there is no ID 0
}

// MaxAt returns the largest ID of the unit that t lies in: the last sequence number of the last
// worker of the last datacenter. Before the epoch it is 0, which is less than any ID; after the
// last unit, and from the last millisecond of the year 9999 on, it is the largest ID of the layout.
func (a *Allocator) MaxAt(t time.Time) int64 {
	switch {
	case t.Before(a.epoch):
		return 0
	case !t.Before(endOfTime) || a.over(t):
		return int64(uint64(1)<<a.allBits - 1)
	}
	return int64(uint64(a.Delta(t)+1)<<a.deltaShift - 1)
}

// Range returns the smallest and the largest ID of the units that a span of time touches: from is
// in the span, to is not, while first and last are both in the range, as in
//
//	WHERE id BETWEEN first AND last
//
// Spans that meet where a unit begins share no ID and leave none out. Of a unit that a span begins
// or ends within, all IDs are in the range, since an ID does not tell when in its unit it was made.
//
// What lies before the epoch or after the last unit is left out. Where nothing remains, and when to
// is not after from, Range returns 1 and 0, between which there is no ID.
func (a *Allocator) Range(from, to time.Time) (first, last int64) {
	if !from.Before(to) || a.over(from) {
		return 1, 0
	}
	return a.MinAt(from), a.MaxAt(to.Add(-1))
}

// over says whether t is after the last unit. No time of an ID is after the year 9999; see
// [Allocator.Time]. Delta is asked between the epoch and then only: far outside of these,
// milliseconds overflow.
func (a *Allocator) over(t time.Time) bool {
	return t.After(endOfTime) || t.After(a.epoch) && a.Delta(t) > a.maxDelta
}
