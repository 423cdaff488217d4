package bitsalloc_test

import (
	"math"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// The far ends of time.Time, where milliseconds overflow an int64.
var longAgo, farAway = time.Unix(-1<<60, 0), time.Unix(1<<60, 0)

func TestMinAtAndMaxAtEncloseTheUnitOfAnInstant(t *testing.T) {
	epoch := bitsalloc.DefaultEpoch()
	snowflake, js, full := bitsalloc.Snowflake(), bitsalloc.JavaScript(), bitsalloc.Default()
	endOfFull, endOfJS := date("2034-07-04T21:24:16Z"), date("2094-01-19T03:14:08Z")
	wide := layout(50, 0, 0, 13) // goes on for 35 million years
	deltaOnly := layout(28, 0, 0, 0)
	endOfTime := date("9999-12-31T23:59:59.999Z")
	const unit = 1 << 35 // IDs in a unit of the default layout
	for _, c := range []struct {
		name     string
		layout   bitsalloc.Layout
		t        time.Time
		min, max int64
	}{
		{"long before the epoch", full, longAgo, 1, 0},
		{"just before the epoch", full, epoch.Add(-1), 1, 0},
		{"the epoch, whose ID 0 is none", full, epoch, 1, unit - 1},
		{"second unit", full, epoch.Add(time.Second), unit, 2*unit - 1},
		{"a known ID", full, date("2026-03-01T12:00:00.5Z"), 176636543002214400, 176636577361952767},
		{"the same in another zone", full, date("2026-03-01T12:00:00.5Z").In(time.FixedZone("", -12600)),
			176636543002214400, 176636577361952767},
		{"last unit of 63 bits", full, endOfFull.Add(-1), math.MaxInt64 - unit + 1, math.MaxInt64},
		{"end of 63 bits", full, endOfFull, math.MaxInt64, math.MaxInt64},
		{"far beyond 63 bits", full, farAway, math.MaxInt64, math.MaxInt64},
		{"last unit of 53 bits", js, endOfJS.Add(-1), 1<<53 - 1<<22, 1<<53 - 1},
		{"end of 53 bits", js, endOfJS, 1 << 53, 1<<53 - 1},
		{"a millisecond", snowflake, epoch.Add(1007 * time.Millisecond), 1007 << 22, 1008<<22 - 1},
		{"delta only, the epoch has no ID", deltaOnly, epoch, 1, 0},
		{"last whole second that has a date", wide, endOfTime.Add(-time.Millisecond),
			(253402300799 - 1767225600) << 13, (253402300799-1767225600+1)<<13 - 1},
		{"last date, which stands for all later units", wide, endOfTime, (253402300799 - 1767225600) << 13, math.MaxInt64},
		{"beyond the dates", wide, endOfTime.Add(1), math.MaxInt64, math.MaxInt64},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := mustNew(t, c.layout, time.Time{})
			if got := a.MinAt(c.t); got != c.min {
				t.Errorf("MinAt(%v) = %d, want %d", c.t, got, c.min)
			}
			if got := a.MaxAt(c.t); got != c.max {
				t.Errorf("MaxAt(%v) = %d, want %d", c.t, got, c.max)
			}
		})
	}
}

// TestSpansAgreeWithEveryIDOfSmallLayouts compares with a search through all IDs of a layout, by
// the time that Parse gives each.
func TestSpansAgreeWithEveryIDOfSmallLayouts(t *testing.T) {
	twelve, minute := layout(3, 0, 1, 1), layout(2, 1, 0, 2)
	twelve.Unit, minute.Unit = 12*time.Millisecond, time.Minute
	for _, l := range []bitsalloc.Layout{layout(1, 0, 0, 0), layout(3, 0, 0, 0), layout(3, 1, 1, 1), twelve, minute} {
		for _, epoch := range []time.Time{bitsalloc.DefaultEpoch(), date("1969-12-31T23:59:58.999Z")} {
			a := mustNew(t, l, epoch)
			instants := instantsAround(a)
			for _, from := range instants {
				checkInstant(t, a, from)
				for _, to := range instants {
					checkSpan(t, a, from, to)
				}
			}
		}
	}
}

// instantsAround returns the borders of all units, and of some units on both sides of the layout,
// with instants just beside the borders.
func instantsAround(a *bitsalloc.Allocator) []time.Time {
	instants := []time.Time{longAgo, farAway}
	for unit := int64(-2); unit <= a.MaxDelta()+3; unit++ {
		border := a.Epoch().Add(time.Duration(unit) * a.Layout().Unit)
		instants = append(instants, border.Add(-1), border, border.Add(1), border.Add(a.Layout().Unit/2))
	}
	return instants
}

// search returns the smallest and the largest ID whose unit, from its begin to its end, is wanted,
// and 0 when there is none.
func search(t *testing.T, a *bitsalloc.Allocator, want func(begin, end time.Time) bool) (first, last int64) {
	t.Helper()
	for id := int64(1); ; id++ {
		f, err := a.Parse(id)
		if err != nil {
			return first, last // the layout ends here
		}
		if !want(f.Time, f.Time.Add(a.Layout().Unit)) {
			continue
		}
		if last = id; first == 0 {
			first = id
		}
	}
}

func checkInstant(t *testing.T, a *bitsalloc.Allocator, at time.Time) {
	t.Helper()
	_, largest := search(t, a, func(_, _ time.Time) bool { return true })
	first, _ := search(t, a, func(_, end time.Time) bool { return end.After(at) })
	if first == 0 {
		first = largest + 1
	}
	_, last := search(t, a, func(begin, _ time.Time) bool { return !begin.After(at) })
	if got := a.MinAt(at); got != first {
		t.Errorf("%v from %v: MinAt(%v) = %d, want %d", a.Layout(), a.Epoch(), at, got, first)
	}
	if got := a.MaxAt(at); got != last {
		t.Errorf("%v from %v: MaxAt(%v) = %d, want %d", a.Layout(), a.Epoch(), at, got, last)
	}
}

func checkSpan(t *testing.T, a *bitsalloc.Allocator, from, to time.Time) {
	t.Helper()
	wantFirst, wantLast := search(t, a, func(begin, end time.Time) bool {
		return from.Before(to) && begin.Before(to) && end.After(from)
	})
	if wantFirst == 0 {
		wantFirst, wantLast = 1, 0
	}
	if first, last := a.Range(from, to); first != wantFirst || last != wantLast {
		t.Errorf("%v from %v: Range(%v, %v) = %d, %d, want %d, %d",
			a.Layout(), a.Epoch(), from, to, first, last, wantFirst, wantLast)
	}
}

func FuzzSpan(f *testing.F) {
	const epoch = 1767225600
	for _, l := range borderLayouts() {
		for _, id := range []int64{1, math.MaxInt64 >> 10, math.MaxInt64} {
			f.Add(l.DeltaBits, l.DatacenterBits, l.WorkerBits, l.SequenceBits, int64(time.Second), id, int64(epoch), int64(999))
			f.Add(l.DeltaBits, l.DatacenterBits, l.WorkerBits, l.SequenceBits, int64(time.Minute), id, int64(1<<60), int64(0))
		}
	}
	f.Fuzz(func(t *testing.T, deltaBits, datacenterBits, workerBits, sequenceBits uint8,
		unit, id, seconds, nanoseconds int64) {
		l := layout(deltaBits, datacenterBits, workerBits, sequenceBits)
		l.Unit = time.Duration(unit)
		a, err := bitsalloc.New(l, time.Time{})
		if err != nil {
			return
		}
		fields, err := a.Parse(id)
		if err != nil {
			return
		}
		// MinAt and MaxAt of the ID's time include the ID. For any instant, MaxAt separates IDs of
		// units that have begun from later ones.
		if lo, hi := a.MinAt(fields.Time), a.MaxAt(fields.Time); id < lo || id > hi {
			t.Fatalf("%v: %v is not between %d and %d", l, fields, lo, hi)
		}
		at := time.Unix(seconds, nanoseconds)
		if begun := !fields.Time.After(at); begun != (id <= a.MaxAt(at)) {
			t.Fatalf("%v: %v has begun by %v: %v, but MaxAt = %d", l, fields, at, begun, a.MaxAt(at))
		}
		first, last := a.Range(at, at.Add(time.Hour))
		if fields.Time.Year() == 9999 {
			return // the last date stands for many units
		}
		touched := fields.Time.Before(at.Add(time.Hour)) && fields.Time.Add(a.Layout().Unit).After(at)
		if touched != (first <= id && id <= last) {
			t.Fatalf("%v: the hour from %v touches the unit of %v: %v, but Range = %d, %d", l, at, fields, touched, first, last)
		}
	})
}
