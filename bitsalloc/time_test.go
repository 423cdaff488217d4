package bitsalloc_test

import (
	"math"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

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
		got := mustNew(t, c.layout, originalEpoch).Time(c.delta)
		if got != c.want {
			t.Errorf("unit %v: Time(%d) = %v, want %v", c.layout.Unit, c.delta, got, c.want)
		}
	}
}

func TestDeltaIsRoundedDown(t *testing.T) {
	a := mustNew(t, bitsalloc.Baidu(), originalEpoch)
	for since, want := range map[time.Duration]int64{
		0: 0, time.Second - 1: 0, time.Second: 1, -1: -1, -time.Second: -1, -time.Second - 1: -2, 1 << 60: 1152921504, -1 << 60: -1152921505,
	} {
		if got := a.Delta(originalEpoch.Add(since)); got != want {
			t.Errorf("Delta %v after the epoch = %d, want %d", since, got, want)
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
		a := mustNew(t, c.layout, c.epoch)
		if got := a.Expires(); got != c.want {
			t.Errorf("%v from %v: Expires = %v, want %v", c.layout, a.Epoch(), got, c.want)
		}
		if c.want != lastMs && a.Delta(c.want) != a.MaxDelta()+1 {
			t.Errorf("%v: Delta at Expires = %d, want one above %d", c.layout, a.Delta(c.want), a.MaxDelta())
		}
	}
}
