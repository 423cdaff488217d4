package bitsalloc_test

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

func layout(delta, datacenter, worker, sequence uint8) bitsalloc.Layout {
	return bitsalloc.Layout{
		DeltaBits: delta, DatacenterBits: datacenter, WorkerBits: worker, SequenceBits: sequence,
		Unit: time.Second,
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

// allowed reports, by the documentation of Layout and New, whether New must accept its arguments.
func allowed(l bitsalloc.Layout, epoch time.Time) bool {
	sum := int(l.DeltaBits) + int(l.DatacenterBits) + int(l.WorkerBits) + int(l.SequenceBits)
	unit := l.Unit == 0 || l.Unit >= time.Millisecond && l.Unit%time.Millisecond == 0 && time.Minute%l.Unit == 0
	year := epoch.UTC().Year()
	return l.DeltaBits > 0 && sum <= 63 && unit && (epoch.IsZero() || year >= 1 && year <= 9999)
}

func FuzzRoundTrip(f *testing.F) {
	for _, l := range borderLayouts() {
		for beyond := range 16 { // each field is at its largest value, or one above
			largest := func(field int, bits uint8) int64 { return int64(1)<<bits - 1 + int64(beyond>>field&1) }
			f.Add(l.DeltaBits, l.DatacenterBits, l.WorkerBits, l.SequenceBits, l.Unit.Nanoseconds(), int64(-1),
				largest(0, l.DeltaBits), largest(1, l.DatacenterBits), largest(2, l.WorkerBits), largest(3, l.SequenceBits))
		}
		for field := range 4 {
			for _, value := range []int64{-1, 0, 1, math.MinInt64, math.MaxInt64} { // beside zeros
				var v [4]int64
				v[field] = value
				f.Add(l.DeltaBits, l.DatacenterBits, l.WorkerBits, l.SequenceBits, time.Minute.Nanoseconds(), int64(1767225600000), v[0], v[1], v[2], v[3])
			}
		}
	}
	f.Add(uint8(255), uint8(255), uint8(255), uint8(255), int64(-1), int64(math.MaxInt64),
		int64(-1), int64(math.MinInt64), int64(math.MaxInt64), int64(0))
	f.Fuzz(func(t *testing.T, deltaBits, datacenterBits, workerBits, sequenceBits uint8, unit, epochMs,
		delta, datacenter, worker, sequence int64) {
		l := bitsalloc.Layout{
			DeltaBits: deltaBits, DatacenterBits: datacenterBits, WorkerBits: workerBits, SequenceBits: sequenceBits,
			Unit: time.Duration(unit),
		}
		epoch := time.UnixMilli(epochMs)
		a, err := bitsalloc.New(l, epoch)
		if want := allowed(l, epoch); want != (err == nil) || !want && !errors.Is(err, bitsalloc.ErrInvalidLayout) {
			t.Fatalf("New(%v, %v): %v, want success: %v", l, epoch, err, want)
		}
		if err == nil {
			checkRoundTrip(t, a, [4]int64{delta, datacenter, worker, sequence})
		}
	})
}

func FuzzParse(f *testing.F) {
	const epoch = 1767225600
	for _, l := range borderLayouts() {
		largest := int64(1<<(l.DeltaBits+l.DatacenterBits+l.WorkerBits+l.SequenceBits) - 1)
		for _, id := range []int64{0, 1, -1, largest, largest + 1, math.MinInt64, math.MaxInt64 >> 10, math.MaxInt64, 1<<53 - 1, 3200169789968523265} {
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
			return // FuzzRoundTrip asks whether that is right
		}
		fields, err := a.Parse(id)
		sum := int(deltaBits) + int(datacenterBits) + int(workerBits) + int(sequenceBits)
		if fits := id > 0 && bits.Len64(uint64(id)) <= sum; fits != (err == nil) {
			t.Fatalf("%v: Parse(%d) = %v, %v, want success: %v", l, id, fields, err, fits)
		}
		if err != nil {
			if !errors.Is(err, bitsalloc.ErrInvalidID) || fields != (bitsalloc.Fields{}) {
				t.Fatalf("%v: Parse(%d) = %v, %v, want ErrInvalidID", l, id, fields, err)
			}
			return
		}
		again, err := a.Allocate(fields.Delta, fields.DatacenterID, fields.WorkerID, fields.Sequence)
		if again != id || err != nil {
			t.Fatalf("%v: Parse(%d) = %v, which makes %d, %v", l, id, fields, again, err)
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
