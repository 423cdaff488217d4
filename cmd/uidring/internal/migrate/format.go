// Package migrate examines existing IDs, and tells whether the IDs of new generators will be above
// them.
package migrate

import (
	"fmt"
	"strings"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// A Format is the bit layout and the epoch of existing IDs.
type Format struct {
	Name   string           `json:"name,omitempty"`
	Layout bitsalloc.Layout `json:"layout,omitzero"` // zero for a counter
	Epoch  time.Time        `json:"epoch,omitzero"`

	workerLast bool // the worker field is below the sequence field
}

// twitterEpoch is the epoch of Twitter's Snowflake in milliseconds since 1970, which many others
// copied.
const twitterEpoch = 1288834974657

// formats returns the formats that have a name. The name snowflake stands for bwmarrin, too.
func formats() []Format {
	snowflake := bitsalloc.Layout{DeltaBits: 41, WorkerBits: 10, SequenceBits: 12, Unit: time.Millisecond}
	twitter := bitsalloc.Layout{DeltaBits: 41, DatacenterBits: 5, WorkerBits: 5, SequenceBits: 12, Unit: time.Millisecond}
	sonyflake := bitsalloc.Layout{DeltaBits: 39, WorkerBits: 16, SequenceBits: 8, Unit: 10 * time.Millisecond}
	day := func(year int, month time.Month) time.Time { return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC) }
	return []Format{
		{Name: "baidu", Layout: bitsalloc.Baidu(), Epoch: time.Unix(1463673600, 0).UTC()},
		{Name: "twitter", Layout: twitter, Epoch: time.UnixMilli(twitterEpoch).UTC()},
		{Name: "bwmarrin", Layout: snowflake, Epoch: time.UnixMilli(twitterEpoch).UTC()},
		{Name: "snowflake", Layout: snowflake, Epoch: time.UnixMilli(twitterEpoch).UTC()},
		{Name: "leaf", Layout: snowflake, Epoch: time.UnixMilli(twitterEpoch).UTC()},
		{Name: "sonyflake", Layout: sonyflake, Epoch: day(2014, time.September), workerLast: true},
		{Name: "sonyflake-v2", Layout: sonyflake, Epoch: day(2025, time.January), workerLast: true},
		{Name: "counter"},
	}
}

// FormatNames returns the names of the formats.
func FormatNames() (names []string) {
	for _, f := range formats() {
		names = append(names, f.Name)
	}
	return names
}

// ParseFormat reads the name of a format, or the text of a layout as [bitsalloc.ParseLayout] does.
// A layout without a name has the epoch [bitsalloc.DefaultEpoch].
func ParseFormat(text string) (Format, error) {
	for _, f := range formats() {
		if strings.EqualFold(text, f.Name) {
			return f, nil
		}
	}
	l, err := bitsalloc.ParseLayout(text)
	if err == nil {
		_, err = bitsalloc.New(l, time.Time{})
	}
	if err != nil {
		return Format{}, fmt.Errorf("allowed: %s, or a layout: %w", strings.Join(FormatNames(), ", "), err)
	}
	return Format{Name: l.String(), Layout: l, Epoch: bitsalloc.DefaultEpoch()}, nil
}

// String returns the name and the layout.
func (f Format) String() string {
	if layout := f.Layout.String(); layout != f.Name {
		return f.Name + ", " + layout
	}
	return f.Name
}

// Counter reports whether the IDs are numbers of a counter, without fields.
func (f Format) Counter() bool { return f.Layout == bitsalloc.Layout{} }

// Continues reports whether generators of this module can issue IDs of the format.
func (f Format) Continues() bool { return !f.Counter() && !f.workerLast }

// Fields are the parts of an existing ID.
type Fields struct {
	ID         int64     `json:"id,string"`
	Time       time.Time `json:"time"`
	Datacenter int64     `json:"datacenter"`
	Worker     int64     `json:"worker"`
	Sequence   int64     `json:"sequence"`
}

// A parser parses the IDs of a format that is not a counter.
type parser struct {
	Format
	alloc *bitsalloc.Allocator
}

// parse returns the fields of an ID. A negative ID of a layout of 63 bits comes from a generator
// whose delta field overflowed into the sign bit: the sign counts as one more bit of delta. parse
// returns false for a number that no generator of the format issues.
func (p *parser) parse(id int64) (Fields, bool) {
	l, bits := p.Layout, uint64(id)
	next := func(width uint8) int64 {
		field := bits & (1<<width - 1)
		bits >>= width
		return int64(field)
	}
	f := Fields{ID: id}
	if p.workerLast {
		f.Worker, f.Sequence = next(l.WorkerBits), next(l.SequenceBits)
	} else {
		f.Sequence, f.Worker = next(l.SequenceBits), next(l.WorkerBits)
	}
	f.Datacenter = next(l.DatacenterBits)
	f.Time = p.alloc.Time(int64(bits))
	width := l.DeltaBits + l.DatacenterBits + l.WorkerBits + l.SequenceBits
	return f, id != 0 && (width == 63 || uint64(id)>>width == 0)
}
