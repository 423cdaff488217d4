package assigner

import (
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
)

// A holder whose row another process takes over, or that lets it expire, may go on to issue IDs up
// to its fence. Horizon of package leasestore must not pass these IDs, and neither the IDs that
// clients of an ID service keep for a while. So two words of a row stand for them: IDs of deltas
// from Row.Oldest to Row.Former may still appear until Former is past. Each holder starts above the
// fence of the last one, so all later IDs are above Former: when Former is past, the horizon may go
// up to it.
//
// elders are the earlier holders of the row of a lease, and the IDs that callers keep.
type elders struct {
	// taken is the fence that the claim has found, 0 if no earlier holder could be alive. The
	// limits of all earlier holders are at most taken. It becomes Former when the present Former is
	// past: in a crash loop each Former would otherwise extend the time of the oldest ID. While the
	// row is free, its fence stands for taken, since a release leaves it at First - 1 at least.
	taken int64
	// For Domain.KeptFor: the values of Use.Oldest, oldest first, and the last value that is so old
	// that callers have no ID below it.
	kept     time.Duration
	readings []reading
	settled  int64
}

type reading struct {
	at     time.Time
	oldest int64
}

// inherit returns Oldest and Former for a claim of the row old, whose grant begins at first.
func (c *claim) inherit(old leasestore.Row, first int64) (e elders, oldest, former int64) {
	e.kept = c.terms.domain.KeptFor
	if !old.Free() || old.Token == "" && old.Former != 0 { // or it was recovered: Former covers all
		e.taken = capped(old.Fence, c.terms.units(e.kept), c.view.fences.end)
	}
	oldest, former = e.former(old, c.view.passed)
	if former == 0 {
		oldest = first
	}
	return e, oldest, former
}

// former returns Oldest and Former for a row whose words are old, or former 0 if all earlier
// holders are past.
func (e *elders) former(old leasestore.Row, passed int64) (oldest, former int64) {
	switch {
	case old.Former >= passed:
		return old.Oldest, old.Former
	case e.taken >= passed:
		return max(old.Oldest, old.Former+1), e.taken
	}
	return old.Oldest, 0
}

// renew returns Oldest and Former for a renewal of the row held, whose holder issues no ID below
// oldest any more.
func (e *elders) renew(held leasestore.Row, passed, oldest int64, now time.Time) (int64, int64) {
	e.readings = append(e.readings, reading{now, oldest})
	for len(e.readings) > 0 && now.Sub(e.readings[0].at) >= e.kept {
		e.settled, e.readings = e.readings[0].oldest, e.readings[1:]
	}
	oldest, former := e.former(held, passed)
	if former == 0 {
		oldest = max(oldest, e.settled)
	}
	return oldest, former
}

// release returns Former for the release of the row held, whose IDs callers may keep up to the time
// of the delta until.
func (e *elders) release(held leasestore.Row, until int64) int64 {
	if e.kept == 0 {
		return held.Former
	}
	return max(held.Former, e.taken, until)
}
