package migrate

import (
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// A Relation tells where new IDs lie relative to the old ones.
type Relation string

const (
	// Above: every new ID is larger than every old one.
	Above Relation = "above"
	// Apart: no new ID equals an old one, but some old IDs are larger than the new ones.
	Apart Relation = "apart"
	// Overlap: new IDs lie among the old ones, and may equal some of them.
	Overlap Relation = "overlap"
	// Ended: the new layout has no IDs at the start.
	Ended Relation = "ended"
)

// A Verdict compares the IDs that a layout has from a start on with old IDs.
type Verdict struct {
	Relation Relation  `json:"verdict"`
	First    int64     `json:"first,string"` // of the new IDs
	Last     int64     `json:"last,string"`
	Ends     time.Time `json:"ends"`               // when the delta field is used up
	Meets    time.Time `json:"overlapAt,omitzero"` // of Overlap: IDs before are below the old ones; zero: the first IDs may equal old ones
	From     time.Time `json:"aboveAt,omitzero"`   // of Overlap: IDs from here on are above the old ones; zero: none are
	Advice   *Advice   `json:"advice,omitempty"`   // nil: none needed, or none known
}

// Advice is an epoch and a layout with which new IDs are above the old ones, or apart from them.
type Advice struct {
	Layout   bitsalloc.Layout `json:"layout"`
	Epoch    time.Time        `json:"epoch"`
	Ends     time.Time        `json:"ends"`
	Relation Relation         `json:"verdict"`
}

// shortWait is a time for which operators can wait until new IDs are above the old ones, as after a
// generator that ran ahead of its clock. Longer waits get an advice.
const shortWait = 7 * 24 * time.Hour

// judge compares the IDs of alloc from a start on with old IDs, sorted and not negative. Negative
// IDs are below every new ID.
func judge(old []int64, alloc *bitsalloc.Allocator, start time.Time) Verdict {
	var smallest, largest int64
	if len(old) > 0 {
		smallest, largest = old[0], old[len(old)-1]
	}
	v := Verdict{Ends: alloc.Expires(), Relation: Ended}
	if start.Before(v.Ends) {
		v.First, v.Last, v.Relation = alloc.MinAt(start), alloc.MaxAt(v.Ends), Overlap
	}
	switch delta := above(largest, alloc.Layout()); {
	case v.Relation == Ended:
	case v.First > largest:
		v.Relation = Above
		return v
	case v.Last < smallest:
		v.Relation = Apart
	default:
		if v.First < smallest {
			v.Meets = alloc.Time(above(smallest, alloc.Layout()) - 1)
		}
		if delta > alloc.MaxDelta() {
			break
		}
		v.From = alloc.Time(delta)
		if v.From.Before(start.Add(shortWait)) {
			return v
		}
	}
	v.Advice = advise(largest, alloc.Layout(), start)
	if v.Advice == nil && v.Relation != Apart {
		v.Advice = adviseBelow(smallest, start)
	}
	return v
}

// above returns the smallest delta of a layout all of whose IDs are larger than an ID.
func above(id int64, l bitsalloc.Layout) int64 {
	return id>>(l.DatacenterBits+l.WorkerBits+l.SequenceBits) + 1
}

const (
	lasts     = 10 // years from the start on that an advised layout has to last
	narrowest = 15 // bits of sequence of an advised layout, but for the preset javascript
)

// advise looks for an earlier epoch, the first day of a year, with which the IDs of a layout are
// above an ID. It tries the wanted layout, and then the preset recommended, with ever
// more bits of delta at the cost of sequence. It returns nil if no layout lasts long enough.
func advise(largest int64, wanted bitsalloc.Layout, start time.Time) *Advice {
	layouts := []bitsalloc.Layout{wanted}
	for l := bitsalloc.Recommended(); l.SequenceBits >= narrowest; l.DeltaBits, l.SequenceBits = l.DeltaBits+1, l.SequenceBits-1 {
		layouts = append(layouts, l)
	}
	for _, l := range layouts {
		delta, unit := above(largest, l), l.Unit.Milliseconds()
		if delta > (1<<62)/unit {
			continue // milliseconds would overflow
		}
		latest := time.UnixMilli(start.UnixMilli() - delta*unit).UTC()
		epoch := time.Date(latest.Year(), time.January, 1, 0, 0, 0, 0, time.UTC)
		if alloc := lasting(l, epoch, start); alloc != nil && alloc.MinAt(start) > largest {
			return &Advice{l, epoch, alloc.Expires(), Above}
		}
	}
	return nil
}

// adviseBelow looks for a layout since [bitsalloc.DefaultEpoch] whose IDs are all below an ID: the
// preset for leased worker IDs with fewer bits of sequence, or the preset javascript.
func adviseBelow(smallest int64, start time.Time) *Advice {
	var layouts []bitsalloc.Layout
	for l := bitsalloc.Recommended(); l.SequenceBits >= narrowest; l.SequenceBits-- {
		layouts = append(layouts, l)
	}
	for _, l := range append(layouts, bitsalloc.JavaScript()) {
		if alloc := lasting(l, bitsalloc.DefaultEpoch(), start); alloc != nil && alloc.MaxAt(alloc.Expires()) < smallest {
			return &Advice{l, alloc.Epoch(), alloc.Expires(), Apart}
		}
	}
	return nil
}

// lasting returns the allocator of a layout, or nil if it is invalid or ends too early.
func lasting(l bitsalloc.Layout, epoch, start time.Time) *bitsalloc.Allocator {
	alloc, err := bitsalloc.New(l, epoch)
	if err != nil || alloc.Expires().Before(start.AddDate(lasts, 0, 0)) {
		return nil
	}
	return alloc
}
