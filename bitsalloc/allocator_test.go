package bitsalloc_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// originalEpoch is the epoch of Baidu's UidGenerator: 2016-05-20 00:00 +08:00.
var originalEpoch = time.Unix(1463673600, 0)

func mustNew(tb testing.TB, l bitsalloc.Layout, epoch time.Time) *bitsalloc.Allocator {
	tb.Helper()
	a, err := bitsalloc.New(l, epoch)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

func layout(delta, datacenter, worker, sequence uint8) bitsalloc.Layout {
	return bitsalloc.Layout{
		DeltaBits: delta, DatacenterBits: datacenter, WorkerBits: worker, SequenceBits: sequence,
		Unit: time.Second,
	}
}

func TestAllocateAndParseGoldenIDs(t *testing.T) {
	for _, c := range []struct {
		layout                              bitsalloc.Layout
		delta, datacenter, worker, sequence int64
		id                                  int64
	}{
		{bitsalloc.Baidu(), 123456789, 0, 4, 9, 4241942969793413129},
		{bitsalloc.Baidu(), 93137199, 0, 21, 1, 3200169789968523265},
		{bitsalloc.Snowflake(), 123456789, 0, 4, 9, 517815303946249},
		{bitsalloc.Default(), 123456789, 4, 9, 7, 4241942974088421383},
		{bitsalloc.Recommended(), 123456789, 0, 4, 9, 530242871228366857},
		{bitsalloc.Recommended(), 2147483647, 0, 4095, 1048575, 9223372036854775807},
	} {
		t.Run(fmt.Sprintf("%v/%d", c.layout, c.id), func(t *testing.T) {
			a := mustNew(t, c.layout, time.Time{})
			id, err := a.Allocate(c.delta, c.datacenter, c.worker, c.sequence)
			if id != c.id || err != nil {
				t.Errorf("Allocate = %d, %v, want %d", id, err, c.id)
			}
			got, err := a.Parse(c.id)
			want := bitsalloc.Fields{
				ID: c.id, Delta: c.delta, DatacenterID: c.datacenter, WorkerID: c.worker, Sequence: c.sequence,
				Time: bitsalloc.DefaultEpoch().Add(time.Duration(c.delta) * c.layout.Unit),
			}
			if got != want || err != nil {
				t.Errorf("Parse = %+v, %v\nwant %+v", got, err, want)
			}
		})
	}
}

// borderLayouts are the presets and layouts at the ends of every width, with sums from 1 to 63.
func borderLayouts() []bitsalloc.Layout {
	layouts := []bitsalloc.Layout{
		bitsalloc.Default(), bitsalloc.Recommended(), bitsalloc.Baidu(), bitsalloc.Snowflake(), bitsalloc.JavaScript(),
		layout(1, 0, 0, 0), layout(63, 0, 0, 0), layout(62, 0, 0, 0), layout(1, 0, 0, 62),
		layout(1, 62, 0, 0), layout(1, 0, 62, 0), layout(62, 1, 0, 0), layout(62, 0, 1, 0), layout(62, 0, 0, 1),
		layout(1, 1, 1, 1), layout(60, 1, 1, 1), layout(31, 0, 31, 1), layout(31, 0, 32, 0), layout(31, 0, 0, 32),
		layout(32, 31, 0, 0), layout(16, 16, 16, 15), layout(30, 1, 1, 31), layout(28, 0, 0, 13), layout(8, 8, 8, 8),
	}
	for width := uint8(2); width < 63; width += 6 {
		layouts = append(layouts, layout(width, (63-width)/3, (63-width)/3, (63-width)/3))
	}
	return layouts
}

var fieldNames = [4]string{"delta", "datacenter", "worker", "sequence"}

// checkRoundTrip compares Allocate with a product of the same values, and Parse with the values.
func checkRoundTrip(t *testing.T, a *bitsalloc.Allocator, v [4]int64) {
	t.Helper()
	l := a.Layout()
	var want uint64
	valid, zero := true, v == [4]int64{}
	for i, width := range [4]uint8{l.DeltaBits, l.DatacenterBits, l.WorkerBits, l.SequenceBits} {
		values := uint64(math.Pow(2, float64(width)))
		valid = valid && v[i] >= 0 && uint64(v[i]) < values
		want = want*values + uint64(v[i])
	}
	id, err := a.Allocate(v[0], v[1], v[2], v[3])
	if !valid || zero {
		checkRefused(t, v, id, err)
		return
	}
	if err != nil || id <= 0 || uint64(id) != want {
		t.Fatalf("Allocate(%v) = %d, %v, want %d", v, id, err, want)
	}
	f, err := a.Parse(id)
	if got := [4]int64{f.Delta, f.DatacenterID, f.WorkerID, f.Sequence}; got != v || f.ID != id || err != nil {
		t.Fatalf("Parse(Allocate(%v)) = %+v, %v", v, f, err)
	}
	if !f.Time.Equal(a.Time(v[0])) {
		t.Fatalf("Parse(Allocate(%v)).Time = %v, want %v", v, f.Time, a.Time(v[0]))
	}
}

// checkRefused asks that the error names each field with its value.
func checkRefused(t *testing.T, v [4]int64, id int64, err error) {
	t.Helper()
	if id != 0 || !errors.Is(err, bitsalloc.ErrOutOfRange) {
		t.Fatalf("Allocate(%v) = %d, %v, want 0, ErrOutOfRange", v, id, err)
	}
	for i, name := range fieldNames {
		if !strings.Contains(err.Error(), fmt.Sprintf("%s %d,", name, v[i])) {
			t.Fatalf("Allocate(%v): the error does not name %s: %v", v, name, err)
		}
	}
}
