package bitsalloc_test

import (
	"math"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/test/testgen"
)

// originalEpoch is the epoch of Baidu's UidGenerator: 2016-05-20 00:00 +08:00.
var originalEpoch = time.Unix(1463673600, 0)

func date(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return t.UTC()
}

func TestTimeIsTheStartOfADelta(t *testing.T) {
	second, ms, wide, wideMinute := bitsalloc.Baidu(), bitsalloc.Snowflake(), layout(63, 0, 0, 0), layout(63, 0, 0, 0)
	wideMinute.Unit = time.Minute
	last := date("9999-12-31T23:59:59.999Z")
	const toEnd = 253402300799 - 1463673600 // seconds from the epoch to the last one of the year 9999
	for _, c := range []struct {
		layout bitsalloc.Layout
		delta  int64
		want   time.Time
	}{
		{second, 0, date("2016-05-19T16:00:00Z")},
		{second, 1, date("2016-05-19T16:00:01Z")},
		{second, 93137199, date("2019-05-02T15:26:39Z")},
		{second, 1<<28 - 1, date("2024-11-20T13:24:15Z")},
		{second, -1, date("2016-05-19T16:00:00Z")},
		{second, math.MinInt64, date("2016-05-19T16:00:00Z")},
		{ms, 1, date("2016-05-19T16:00:00.001Z")},
		{ms, 60_001, date("2016-05-19T16:01:00.001Z")},
		{wide, toEnd, date("9999-12-31T23:59:59Z")},
		{wide, toEnd + 1, last},
		{wide, 1 << 50, last},       // years, but no overflow
		{wide, 1 << 60, last},       // the product overflows an int64
		{wide, math.MaxInt64, last}, // and a uint64
		{wideMinute, toEnd / 60, date("9999-12-31T23:59:00Z")},
		{wideMinute, 1<<48 + 1, last},
		{wideMinute, math.MaxInt64, last},
	} {
		got := testgen.Allocator(t, c.layout, originalEpoch).Time(c.delta)
		if got != c.want {
			t.Errorf("unit %v: Time(%d) = %v, want %v", c.layout.Unit, c.delta, got, c.want)
		}
	}
}

func TestDeltaIsRoundedDown(t *testing.T) {
	a := testgen.Allocator(t, bitsalloc.Baidu(), originalEpoch)
	const year, last = 31_556_952, 1<<53 - 1463673600
	at := originalEpoch.Add
	for instant, want := range map[time.Time]int64{
		at(0): 0, at(time.Second - 1): 0, at(time.Second): 1, at(-1): -1, at(-time.Second): -1, at(-time.Second - 1): -2, at(1 << 60): 1152921504, at(-1 << 60): -1152921505,
		time.Unix(1<<53, 0): last, time.Unix(1<<53+1, 0): last, time.Unix(1<<61+50*year, 0): last, time.Unix(-1<<61+50*year, 0): last - 1<<54,
	} {
		if got := a.Delta(instant); got != want {
			t.Errorf("Delta at %d = %d, want %d", instant.Unix(), got, want)
		}
	}
}

func TestExpiresIsTheEndOfTheLastUnit(t *testing.T) {
	lastMs := date("9999-12-31T23:59:59.999Z")
	minute := bitsalloc.Default()
	minute.Unit = time.Minute
	for _, c := range []struct {
		layout bitsalloc.Layout
		epoch  time.Time
		want   time.Time
	}{
		{bitsalloc.Default(), time.Time{}, date("2034-07-04T21:24:16Z")},
		{bitsalloc.Baidu(), originalEpoch, date("2024-11-20T13:24:16Z")},
		{bitsalloc.Recommended(), time.Time{}, date("2094-01-19T03:14:08Z")},
		{bitsalloc.Snowflake(), time.Time{}, date("2095-09-07T15:47:35.552Z")},
		{bitsalloc.JavaScript(), time.Time{}, date("2094-01-19T03:14:08Z")},
		{minute, time.Time{}, date("2536-05-20T12:16:00Z")},
		{layout(1, 0, 0, 0), time.Time{}, date("2026-01-01T00:00:02Z")},
		{layout(62, 0, 0, 0), time.Time{}, lastMs},
		{layout(63, 0, 0, 0), time.Time{}, lastMs},
		{bitsalloc.Default(), lastMs, lastMs},
	} {
		a := testgen.Allocator(t, c.layout, c.epoch)
		if got := a.Expires(); got != c.want {
			t.Errorf("%v from %v: Expires = %v, want %v", c.layout, a.Epoch(), got, c.want)
		}
		if c.want != lastMs && a.Delta(c.want) != a.MaxDelta()+1 {
			t.Errorf("%v: Delta at Expires = %d, want one above %d", c.layout, a.Delta(c.want), a.MaxDelta())
		}
	}
}

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
		{"long before in milliseconds", snowflake, longAgo, 1, 0},
		{"long before without other fields", deltaOnly, longAgo, 1, 0},
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
			a := testgen.Allocator(t, c.layout, time.Time{})
			if got := a.MinAt(c.t); got != c.min {
				t.Errorf("MinAt(%v) = %d, want %d", c.t, got, c.min)
			}
			if got := a.MaxAt(c.t); got != c.max {
				t.Errorf("MaxAt(%v) = %d, want %d", c.t, got, c.max)
			}
		})
	}
}

// A unit of the default layout has 2^35 IDs. The span includes from and excludes to.
func TestRangeIncludesTheUnitsThatASpanTouches(t *testing.T) {
	const unit = 1 << 35
	epoch, end := bitsalloc.DefaultEpoch(), date("2034-07-04T21:24:16Z")
	for name, c := range map[string]struct {
		from, to    time.Time
		first, last int64
	}{
		"all":                         {longAgo, farAway, 1, math.MaxInt64},
		"the first unit":              {longAgo, epoch.Add(time.Second), 1, unit - 1},
		"a nanosecond of the second":  {epoch.Add(time.Second), epoch.Add(time.Second + 1), unit, 2*unit - 1},
		"parts of two units":          {epoch.Add(2*time.Second - 1), epoch.Add(2*time.Second + 1), unit, 3*unit - 1},
		"the last unit":               {end.Add(-1), farAway, math.MaxInt64 - unit + 1, math.MaxInt64},
		"before the epoch":            {longAgo, epoch, 1, 0},
		"after the end":               {end, farAway, 1, 0},
		"nothing":                     {epoch.Add(time.Second), epoch.Add(time.Second), 1, 0},
		"upside down":                 {epoch.Add(time.Minute), epoch.Add(time.Second), 1, 0},
		"upside down over everything": {farAway, longAgo, 1, 0},
	} {
		if first, last := testgen.Allocator(t, bitsalloc.Default(), epoch).Range(c.from, c.to); first != c.first || last != c.last {
			t.Errorf("%s: Range = %d, %d, want %d, %d", name, first, last, c.first, c.last)
		}
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
