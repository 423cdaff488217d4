package bitsalloc_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

func TestParseLayout(t *testing.T) {
	for text, want := range map[string]bitsalloc.Layout{
		"default":         bitsalloc.Default(),
		"Snowflake":       bitsalloc.Snowflake(),
		"RECOMMENDED":     bitsalloc.Recommended(),
		"31/0/12/20":      bitsalloc.Recommended(),
		"28/0/22/13":      bitsalloc.Baidu(),
		"31/0/10/12":      bitsalloc.JavaScript(),
		"28/5/17/13":      bitsalloc.Default(),
		"28/5/17/13@1s":   bitsalloc.Default(),
		"41/0/10/12@1ms":  bitsalloc.Snowflake(),
		"0/0/0/0@0s":      {},
		"255/255/0/1@1m":  {DeltaBits: 255, DatacenterBits: 255, SequenceBits: 1, Unit: time.Minute},
		"31/0/12/20@1.5s": {DeltaBits: 31, WorkerBits: 12, SequenceBits: 20, Unit: 1500 * time.Millisecond},
	} {
		if got, err := bitsalloc.ParseLayout(text); err != nil || got != want {
			t.Errorf("ParseLayout(%q) = %v, %v, want %v", text, got, err, want)
		}
		written, err := json.Marshal(want)
		var read bitsalloc.Layout
		if err := errors.Join(err, json.Unmarshal(written, &read)); read != want || err != nil {
			t.Errorf("%s is read as %v, %v, want %v", written, read, err, want)
		}
	}
	for _, name := range bitsalloc.PresetNames() {
		if _, err := bitsalloc.ParseLayout(name); err != nil {
			t.Error(err)
		}
	}
	for _, text := range []string{
		"", "defaults", "28", "28/5", "28/5/17", "41/10/12@1ms", "28/5/17/13/1s", "28/5/17/13 1s", "28/5/17/256", "28/5/-17/13", "28/5/17/", "28/5/17/13@",
		"28/5/17/13@1", "28/5/17/13@1s@1s", " 28/5/17/13", "28/5@1s", "28/5/17/256@1s",
	} {
		l, err := bitsalloc.ParseLayout(text)
		kept := bitsalloc.Recommended()
		if kept.UnmarshalText([]byte(text)) == nil || kept != bitsalloc.Recommended() {
			t.Errorf("UnmarshalText(%q) leaves %v", text, kept)
		}
		if !errors.Is(err, bitsalloc.ErrInvalidLayout) || l != (bitsalloc.Layout{}) || !strings.Contains(err.Error(), "recommended") {
			t.Errorf("ParseLayout(%q) = %v, %v, want ErrInvalidLayout and the names of presets", text, l, err)
		}
	}
}

func TestNewNamesEveryMistakeAtOnce(t *testing.T) {
	const (
		noDelta = "DeltaBits 0, allowed: at least 1"
		unit    = "Unit "
		epoch   = "epoch "
		sum     = "DeltaBits "
	)
	withUnit := func(l bitsalloc.Layout, unit time.Duration) bitsalloc.Layout { l.Unit = unit; return l }
	good, unset := bitsalloc.Default(), time.Time{}
	lastMs := time.Date(9999, time.December, 31, 23, 59, 59, 999e6, time.UTC)
	for _, c := range []struct {
		name   string
		layout bitsalloc.Layout
		epoch  time.Time
		want   []string // one line of the error each; none: no error
	}{
		{"zero layout", bitsalloc.Layout{}, unset, []string{noDelta}},
		{"sum 63", layout(63, 0, 0, 0), unset, nil},
		{"sum 64", layout(29, 5, 17, 13), unset, []string{
			"DeltaBits 29 + DatacenterBits 5 + WorkerBits 17 + SequenceBits 13 = 64, allowed: at most 63"}},
		{"one width 64", layout(64, 0, 0, 0), unset, []string{sum + "64 + "}},
		{"negative unit", withUnit(good, -time.Second), unset, []string{unit + "-1s"}},
		{"part of a millisecond", withUnit(good, 500*time.Microsecond), unset, []string{unit + "500µs"}},
		{"one and a half milliseconds", withUnit(good, 1500*time.Microsecond), unset, []string{unit + "1.5ms"}},
		{"divides no minute", withUnit(good, 7*time.Second), unset, []string{unit + "7s"}},
		{"one minute", withUnit(good, time.Minute), unset, nil},
		{"epoch with microseconds", good, time.Unix(0, 1000), []string{epoch + "1970-01-01 00:00:00.000001"}},
		{"epoch with milliseconds", good, time.Unix(0, 1e6), nil},
		{"epoch in year 1", good, time.Date(1, time.December, 31, 0, 0, 0, 0, time.UTC), nil},
		{"epoch in year 0", good, time.Date(0, time.December, 31, 0, 0, 0, 0, time.UTC), []string{epoch}},
		{"epoch in year 1 here, 0 in UTC", good, time.Date(1, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600)), []string{epoch}},
		{"last epoch", good, lastMs, nil},
		{"epoch in year 10000", good, lastMs.Add(time.Millisecond), []string{epoch}},
		{"everything", withUnit(layout(0, 200, 200, 200), 7*time.Second), lastMs.Add(time.Nanosecond),
			[]string{noDelta, " = 600,", unit + "7s", epoch}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := bitsalloc.New(c.layout, c.epoch)
			if c.want == nil {
				if a == nil || err != nil {
					t.Fatalf("New = %v, %v", a, err)
				}
				return
			}
			if a != nil || !errors.Is(err, bitsalloc.ErrInvalidLayout) {
				t.Fatalf("New = %v, %v, want ErrInvalidLayout", a, err)
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(c.want) {
				t.Fatalf("%d mistakes reported, want %d:\n%v", len(lines), len(c.want), err)
			}
			for i, line := range lines {
				if !strings.HasPrefix(line, "bitsalloc: invalid layout: ") || !strings.Contains(line, c.want[i]) {
					t.Errorf("line %d is %q, want %q in it", i, line, c.want[i])
				}
			}
		})
	}
}
