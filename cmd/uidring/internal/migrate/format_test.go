package migrate

import (
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/testgen"
)

func parserOf(t *testing.T, name string) *parser {
	t.Helper()
	f, err := ParseFormat(name)
	if err != nil {
		t.Fatal(err)
	}
	alloc := testgen.Allocator(t, f.Layout, f.Epoch)
	return &parser{f, alloc}
}

// IDs that the other generators issued, with the fields that their documentation gives, and IDs
// packed by hand as their sources do.
func TestFormatsParse(t *testing.T) {
	const sonyflake = 123<<24 | 45<<16 | 6789 // units of 10 ms, sequence, machine
	at := func(text string) time.Time {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
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
		if got, ok := parserOf(t, row.format).parse(row.want.ID); !ok || got != row.want {
			t.Errorf("%s: %+v, %t, want %+v", row.format, got, ok, row.want)
		}
	}
}

func TestParseRejectsNumbersOfNoGenerator(t *testing.T) {
	for format, ids := range map[string][]int64{"baidu": {0}, "javascript": {0, -1, 1 << 53, -1 << 63}} {
		for _, id := range ids {
			if f, ok := parserOf(t, format).parse(id); ok {
				t.Errorf("%s: %d is parsed: %+v", format, id, f)
			}
		}
	}
}
