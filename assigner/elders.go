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

// inherit returns the elders for a claim of the row old.
func (c *claim) inherit(old leasestore.Row) elders {
	e := elders{kept: c.terms.domain.KeptFor}
	if !old.Free() || old.Token == "" && old.Former != 0 { // or it was recovered: Former covers all
		e.taken = capped(old.Fence, c.terms.units(e.kept), c.view.fences.end)
	}
	return e
}

// words returns Oldest and Former for a swap of row. own is the oldest delta of the holder, from
// which the IDs begin when all earlier holders are past.
func (e *elders) words(row leasestore.Row, passed, own int64) (oldest, former int64) {
	switch {
	case row.Former >= passed:
		return row.Oldest, row.Former
	case e.taken >= passed:
		return max(row.Oldest, row.Former+1), e.taken
	}
	return own, 0
}

// renew returns Oldest and Former for a renewal of the row held, whose holder issues no ID below
// oldest any more.
func (e *elders) renew(held leasestore.Row, passed, oldest int64, now time.Time) (int64, int64) {
	e.readings = append(e.readings, reading{now, oldest})
	for len(e.readings) > 0 && now.Sub(e.readings[0].at) >= e.kept {
		e.settled, e.readings = e.readings[0].oldest, e.readings[1:]
	}
	return e.words(held, passed, max(held.Oldest, e.settled))
}
