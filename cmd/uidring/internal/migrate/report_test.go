package migrate

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/test/testgen"
	"github.com/uidring/uidring/internal/test/testkit"
)

// start is the time at which the new generators of the tests start.
var start = time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC)

func examine(t *testing.T, format string, l bitsalloc.Layout, epoch time.Time, ids ...int64) Report {
	t.Helper()
	f, err := ParseFormat(format)
	testkit.Must(t, err)
	alloc := testgen.Allocator(t, l, epoch)
	r, err := Examine(ids, f, alloc, start)
	testkit.Must(t, err)
	return r
}

func TestVerdicts(t *testing.T) {
	twitter := time.UnixMilli(twitterEpoch)
	const (
		java2019 = 3200169789968523265 // Baidu's layout
		java2026 = -7055269968853590016
		last     = 1<<63 - 1
		tweet    = 1541815603606036480 // 2022
	)
	for name, row := range map[string]struct {
		format string
		layout bitsalloc.Layout
		epoch  time.Time
		ids    []int64
		want   Relation
		meets  string // when new IDs reach the old ones
		above  string // when new IDs are above the old ones
		advice string // "" for none
	}{
		"the same layout goes on":                  {"bwmarrin", bitsalloc.Snowflake(), twitter, []int64{1 << 22, tweet}, Above, "", "", ""},
		"a later epoch repeats IDs":                {"bwmarrin", bitsalloc.Snowflake(), time.Time{}, []int64{1 << 22, tweet}, Overlap, "", "2037-08-25", "above 41/0/10/12@1ms 2015"},
		"only negative IDs":                        {"baidu", bitsalloc.Default(), time.Time{}, []int64{java2026}, Above, "", "", ""},
		"negative and positive":                    {"baidu", bitsalloc.Default(), time.Time{}, []int64{java2026, java2019}, Overlap, "2028-12-13", "2028-12-13", "above 31/0/12/20@1s 2003"},
		"no IDs are left above":                    {"baidu", bitsalloc.Recommended(), time.Time{}, []int64{java2019, last}, Overlap, "2049-08-11", "", "apart 31/0/12/18@1s 2026"},
		"few IDs are left above":                   {"baidu", bitsalloc.Recommended(), time.Time{}, []int64{java2019, last / 16 * 15}, Overlap, "2049-08-11", "2089-10-18", "above 33/0/12/18@1s 1771"},
		"only a narrow layout is below":            {"javascript", bitsalloc.Recommended(), time.Time{}, []int64{1 << 55, last}, Overlap, "", "", "apart 31/0/10/12@1s 2026"},
		"no layout is above or below":              {"counter", bitsalloc.Recommended(), time.Time{}, []int64{1, last}, Overlap, "", "", ""},
		"below the smallest":                       {"baidu", bitsalloc.JavaScript(), time.Time{}, []int64{java2019, last}, Apart, "", "", ""},
		"a layout that has ended":                  {"baidu", bitsalloc.Baidu(), time.Unix(1463673600, 0), []int64{java2019}, Ended, "", "", "above 31/0/12/20@1s 2003"},
		"a layout that has ended, and no positive": {"baidu", bitsalloc.Baidu(), time.Unix(1463673600, 0), []int64{java2026}, Ended, "", "", "above 31/0/12/20@1s 2026"},
		"a counter":                                {"counter", bitsalloc.Recommended(), time.Time{}, []int64{1, 2, 3_000_000_000}, Above, "", "", ""},
		"the old generator ran ahead":              {"default", bitsalloc.Default(), time.Time{}, []int64{(28166400 + 3600) << 35}, Overlap, "2026-11-23", "2026-11-23", ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := examine(t, row.format, row.layout, row.epoch, row.ids...).New
			date := func(t time.Time) string {
				if t.IsZero() {
					return ""
				}
				return t.Format(time.DateOnly)
			}
			advice := ""
			if a := v.Advice; a != nil {
				advice = fmt.Sprintf("%s %s %d", a.Relation, a.Layout, a.Epoch.Year())
			}
			if v.Relation != row.want || date(v.Meets) != row.meets || date(v.From) != row.above || advice != row.advice {
				t.Fatalf("%s, meets old IDs at %q, above at %q, advice %q, want %s, %q, %q, %q",
					v.Relation, date(v.Meets), date(v.From), advice, row.want, row.meets, row.above, row.advice)
			}
			if v.Advice != nil {
				if got := examine(t, row.format, v.Advice.Layout, v.Advice.Epoch, row.ids...).New; got.Relation != v.Advice.Relation || got.Ends.Before(start.AddDate(10, 0, 0)) {
					t.Errorf("the advice gives %s until %v", got.Relation, got.Ends)
				}
			}
		})
	}
}

func TestReportsWorkersAndRepeats(t *testing.T) {
	alloc := testgen.Allocator(t, bitsalloc.Default(), time.Time{})
	id := func(delta, datacenter, worker, sequence int64) int64 {
		id, err := alloc.Allocate(delta, datacenter, worker, sequence)
		testkit.Must(t, err)
		return id
	}
	twice := id(200, 1, 7, 3)
	r := examine(t, "default", bitsalloc.Recommended(), time.Time{}, id(300, 0, 9, 0), twice, id(100, 1, 7, 0), id(250, 0, 9, 1), twice, id(100, 1, 7, 2), 0)
	wantWorkers := []Worker{
		{0, 9, 2, alloc.Time(250), alloc.Time(300)},
		{1, 7, 4, alloc.Time(100), alloc.Time(200)},
	}
	if !reflect.DeepEqual(r.Workers, wantWorkers) {
		t.Errorf("workers %+v, want %+v", r.Workers, wantWorkers)
	}
	if want := []Repeat{{twice, 2}}; !reflect.DeepEqual(r.Repeated, want) {
		t.Errorf("repeated %v, want %v", r.Repeated, want)
	}
	if r.Read != 7 || r.Foreign != 1 || r.Negative != 0 || r.Oldest.ID != id(100, 1, 7, 0) || r.Newest.ID != id(300, 0, 9, 0) || r.Smallest != 0 {
		t.Errorf("%+v", r)
	}
}

// IDs that the other generators issued, with the fields that their documentation gives, and IDs
// packed by hand as their sources do.
func TestFormatsParse(t *testing.T) {
	const sonyflake = 123<<24 | 45<<16 | 6789 // units of 10 ms, sequence, machine
	at := func(text string) time.Time {
		at, err := time.Parse(time.RFC3339, text)
		testkit.Must(t, err)
		return at
	}
	for _, row := range []struct {
		format string
		want   Fields
	}{
		{"baidu", Fields{3200169789968523265, at("2019-05-02T15:26:39Z"), 0, 21, 1}},
		{"baidu", Fields{-7055269968853590016, at("2026-11-20T21:12:11Z"), 0, 1, 0}},
		{"baidu", Fields{-1 << 63, at("2024-11-20T13:24:16Z"), 0, 0, 0}}, // the first unit after the end
		{"baidu", Fields{-1, at("2033-05-24T10:48:31Z"), 0, 1<<22 - 1, 1<<13 - 1}},
		{"twitter", Fields{1541815603606036480, at("2022-06-28T16:07:40.105Z"), 11, 26, 0}},
		{"bwmarrin", Fields{1541815603606036480, at("2022-06-28T16:07:40.105Z"), 0, 378, 0}},
		{"LEAF", Fields{1541815603606036480, at("2022-06-28T16:07:40.105Z"), 0, 378, 0}},
		{"sonyflake", Fields{sonyflake, at("2014-09-01T00:00:01.23Z"), 0, 6789, 45}},
		{"sonyflake-v2", Fields{sonyflake, at("2025-01-01T00:00:01.23Z"), 0, 6789, 45}},
		{"default", Fields{176636547297255431, at("2026-03-01T12:00:00Z"), 4, 9, 7}},
	} {
		if got, ok := parse(t, row.format, row.want.ID); !ok || got != row.want {
			t.Errorf("%s: %+v, %t, want %+v", row.format, got, ok, row.want)
		}
	}
	for format, ids := range map[string][]int64{"baidu": {0}, "javascript": {0, -1, 1 << 53, -1 << 63}} {
		for _, id := range ids {
			if f, ok := parse(t, format, id); ok {
				t.Errorf("%s: %d, which no generator issues, is parsed: %+v", format, id, f)
			}
		}
	}
}

func parse(t *testing.T, format string, id int64) (Fields, bool) {
	t.Helper()
	f, err := ParseFormat(format)
	testkit.Must(t, err)
	return (&parser{f, testgen.Allocator(t, f.Layout, f.Epoch)}).parse(id)
}
