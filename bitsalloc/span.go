package bitsalloc

import (
	"math"
	"time"
)

// MinAt returns the smallest ID of the unit that contains t. A query for all IDs since then is
//
//	WHERE id >= MinAt(t)
//
// and a query for all IDs between two instants, including the units of both, is
//
//	WHERE id BETWEEN MinAt(from) AND MaxAt(to)
//
// Both queries are also right for instants that the layout has no unit for. Before the epoch MinAt
// returns 1, the smallest ID. After the last unit, or the year 9999, it returns the largest ID plus
// one. If all 63 bits are in use that is no int64, and MinAt returns the largest ID;
// [Allocator.Range] is exact there, too.
//
// The time in an ID may differ from the time at which it was issued: with package cached, by up to
// MaxStaleness or MaxAhead. Widen the query by these.
func (a *Allocator) MinAt(t time.Time) int64 {
	switch {
	case t.Before(a.epoch):
		return 1
	case a.over(t):
		return int64(min(1<<a.allBits, uint64(math.MaxInt64)))
	}
	return max(1, a.Delta(t)<<a.deltaShift) // there is no ID 0
}

// MaxAt returns the largest ID of the unit that contains t: the last sequence number of the last
// worker of the last datacenter. Before the epoch it returns 0, which is less than any ID. After
// the last unit, and from the last millisecond of the year 9999 on, it returns the largest ID of
// the layout.
func (a *Allocator) MaxAt(t time.Time) int64 {
	switch {
	case t.Before(a.epoch):
		return 0
	case !t.Before(endOfTime) || a.over(t):
		return int64(uint64(1)<<a.allBits - 1)
	}
	return int64(uint64(a.Delta(t)+1)<<a.deltaShift - 1)
}

// Range returns the smallest and the largest ID of the units that a span of time touches. The span
// includes from and excludes to; the range includes both first and last, as in
//
//	WHERE id BETWEEN first AND last
//
// Spans that meet where a unit begins share no ID and leave none out. If a span begins or ends
// within a unit, the range includes all IDs of that unit, since an ID does not record the time
// within its unit.
//
// Range ignores the parts of the span before the epoch and after the last unit. If nothing remains,
// or to is not after from, Range returns 1 and 0, a range without IDs.
func (a *Allocator) Range(from, to time.Time) (first, last int64) {
	if !from.Before(to) || a.over(from) {
		return 1, 0
	}
	return a.MinAt(from), a.MaxAt(to.Add(-1))
}

// over reports whether t is after the last unit. No time of an ID is after the year 9999; see
// [Allocator.Time].
func (a *Allocator) over(t time.Time) bool {
	return t.After(endOfTime) || a.Delta(t) > a.maxDelta
}
