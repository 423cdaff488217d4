package bitsalloc

import (
	"errors"
	"fmt"
	"time"
)

// ErrInvalidLayout is returned by [New] when widths, unit or epoch are not allowed. The error text
// names every field that is wrong.
var ErrInvalidLayout = errors.New("bitsalloc: invalid layout")

// maxBits is the number of bits of an int64 without its sign.
const maxBits = 63

// Layout sets the widths of the fields of an ID, from high to low: delta, datacenter, worker,
// sequence. The widths sum to at most 63; the bits left over are the top ones and stay 0.
type Layout struct {
	DeltaBits      uint8         // units since the epoch; at least 1
	DatacenterBits uint8         // 0: no datacenter field
	WorkerBits     uint8         // 0: a single worker, whose ID is 0
	SequenceBits   uint8         // one worker ID has 2^SequenceBits IDs per unit
	Unit           time.Duration // the time step of delta: whole milliseconds that divide one minute; 0: 1 s
}

// Default is 28/5/17/13 with a unit of one second: 8.5 years, 32 datacenters of 131,072 workers,
// 8,192 IDs per worker and second.
func Default() Layout { return Layout{28, 5, 17, 13, time.Second} }

// Recommended is 31/0/12/20 with a unit of one second: until 2094, 4,096 worker IDs, 1,048,576 IDs
// per worker and second. It is the layout for leased worker IDs, which are reused. Take [Default]
// for worker IDs that are used once: here they would allow 4,095 starts.
func Recommended() Layout { return Layout{31, 0, 12, 20, time.Second} }

// Baidu is the layout of Baidu's UidGenerator, 28/0/22/13 with a unit of one second. Workers below
// 2^17 get the same bits as from [Default] with datacenter 0.
func Baidu() Layout { return Layout{28, 0, 22, 13, time.Second} }

// Snowflake is the classic layout of Twitter's Snowflake, 41/0/10/12 with a unit of one
// millisecond: 69 years, 1,024 workers, 4,096 IDs per worker and millisecond.
func Snowflake() Layout { return Layout{41, 0, 10, 12, time.Millisecond} }

// JavaScript is 31/0/10/12 with a unit of one second. Its IDs stay below 2^53, and a JavaScript
// number holds every integer up to 2^53 exactly. It allows 68 years, 1,024 workers, 4,096 IDs per
// worker and second.
func JavaScript() Layout { return Layout{31, 0, 10, 12, time.Second} }

// DefaultEpoch is 2026-01-01T00:00:00Z, the epoch that [New] uses for a zero epoch.
func DefaultEpoch() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }

// check reports every mistake of a layout and an epoch at once.
func (l Layout) check(epoch time.Time) error {
	var errs []error
	if l.DeltaBits == 0 {
		errs = append(errs, fmt.Errorf("%w: DeltaBits 0, allowed: at least 1", ErrInvalidLayout))
	}
	if sum := int(l.DeltaBits) + int(l.DatacenterBits) + int(l.WorkerBits) + int(l.SequenceBits); sum > maxBits {
		errs = append(errs, fmt.Errorf("%w: DeltaBits %d + DatacenterBits %d + WorkerBits %d + SequenceBits %d = %d, allowed: at most %d",
			ErrInvalidLayout, l.DeltaBits, l.DatacenterBits, l.WorkerBits, l.SequenceBits, sum, maxBits))
	}
	if l.Unit < time.Millisecond || l.Unit%time.Millisecond != 0 || time.Minute%l.Unit != 0 {
		errs = append(errs, fmt.Errorf("%w: Unit %v, allowed: whole milliseconds that divide one minute", ErrInvalidLayout, l.Unit))
	}
	if epoch.Nanosecond()%int(time.Millisecond) != 0 || epoch.Year() < 1 || epoch.After(endOfTime) {
		errs = append(errs, fmt.Errorf("%w: epoch %v, allowed: whole milliseconds from the year 1 to 9999", ErrInvalidLayout, epoch))
	}
	return errors.Join(errs...)
}
