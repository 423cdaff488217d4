package bitsalloc

import (
	"errors"
	"fmt"
	"math/bits"
	"time"
)

var (
	// ErrOutOfRange is returned by [Allocator.Allocate] when a value does not fit its field.
	ErrOutOfRange = errors.New("bitsalloc: out of range")
	// ErrInvalidID is returned by [Allocator.Parse] for a number that is no ID of the layout.
	ErrInvalidID = errors.New("bitsalloc: invalid ID")
)

// An Allocator packs and parses IDs of one layout and epoch. It is immutable: any number of
// goroutines may use it at once. Make one with [New].
type Allocator struct {
	layout Layout
	epoch  time.Time

	epochMs, unitMs                                   int64
	maxDelta, maxDatacenter, maxWorker, maxSequence   int64
	deltaShift, datacenterShift, workerShift, allBits uint8
}

// New checks a layout and an epoch and returns their Allocator. A zero Unit is one second, a zero
// epoch is [DefaultEpoch]. The epoch is an instant between the years 1 and 9999 with whole
// milliseconds; its time zone does not matter. New reports all mistakes together, wrapped in
// [ErrInvalidLayout].
func New(l Layout, epoch time.Time) (*Allocator, error) {
	if l.Unit == 0 {
		l.Unit = time.Second
	}
	if epoch.IsZero() {
		epoch = DefaultEpoch()
	}
	epoch = epoch.UTC()
	if err := l.check(epoch); err != nil {
		return nil, err
	}
	workerShift := l.SequenceBits
	datacenterShift := workerShift + l.WorkerBits
	deltaShift := datacenterShift + l.DatacenterBits
	return &Allocator{
		layout:          l,
		epoch:           epoch,
		epochMs:         epoch.UnixMilli(),
		unitMs:          l.Unit.Milliseconds(),
		maxDelta:        1<<l.DeltaBits - 1,
		maxDatacenter:   1<<l.DatacenterBits - 1,
		maxWorker:       1<<l.WorkerBits - 1,
		maxSequence:     1<<l.SequenceBits - 1,
		deltaShift:      deltaShift,
		datacenterShift: datacenterShift,
		workerShift:     workerShift,
		allBits:         deltaShift + l.DeltaBits,
	}, nil
}

// Layout returns the layout, its unit resolved.
func (a *Allocator) Layout() Layout { return a.layout }

// Epoch returns the epoch in UTC.
func (a *Allocator) Epoch() time.Time { return a.epoch }

// MaxDelta returns the largest value of the delta field, 2^DeltaBits − 1.
func (a *Allocator) MaxDelta() int64 { return a.maxDelta }

// MaxDatacenterID returns the largest value of the datacenter field, 0 when there is none.
func (a *Allocator) MaxDatacenterID() int64 { return a.maxDatacenter }

// MaxWorkerID returns the largest value of the worker field, 0 when there is none.
func (a *Allocator) MaxWorkerID() int64 { return a.maxWorker }

// MaxSequence returns the largest value of the sequence field, 0 when there is none.
func (a *Allocator) MaxSequence() int64 { return a.maxSequence }

// Allocate packs one positive ID. Each value must be from 0 to the maximum of its field. Otherwise
// Allocate returns [ErrOutOfRange], and the text has the values and the maxima. Four zeros give
// ErrOutOfRange as well, since they would make the ID 0.
func (a *Allocator) Allocate(delta, datacenter, worker, sequence int64) (int64, error) {
	id := delta<<a.deltaShift | datacenter<<a.datacenterShift | worker<<a.workerShift | sequence
	if uint64(delta) > uint64(a.maxDelta) || uint64(datacenter) > uint64(a.maxDatacenter) ||
		uint64(worker) > uint64(a.maxWorker) || uint64(sequence) > uint64(a.maxSequence) || id <= 0 {
		return 0, fmt.Errorf("%w: delta %d, datacenter %d, worker %d, sequence %d, allowed: 0 to %d, %d, %d and %d, and not only zeros",
			ErrOutOfRange, delta, datacenter, worker, sequence, a.maxDelta, a.maxDatacenter, a.maxWorker, a.maxSequence)
	}
	return id, nil
}

// Parse returns the fields of an ID. It returns [ErrInvalidID] for a number that is not positive or
// has a bit above the layout. An ID does not record its layout or epoch: parsing it with the wrong
// ones gives wrong fields and no error.
func (a *Allocator) Parse(id int64) (Fields, error) {
	if id <= 0 || uint64(id)>>a.allBits != 0 {
		return Fields{}, fmt.Errorf("%w: %d, allowed with layout %v: 1 to %d",
			ErrInvalidID, id, a.layout, uint64(1)<<a.allBits-1)
	}
	delta := id >> a.deltaShift
	return Fields{
		ID:           id,
		Delta:        delta,
		DatacenterID: id >> a.datacenterShift & a.maxDatacenter,
		WorkerID:     id >> a.workerShift & a.maxWorker,
		Sequence:     id & a.maxSequence,
		Time:         a.Time(delta),
	}, nil
}

// endOfTime is the last millisecond that RFC 3339 can write. Wide delta fields reach beyond it.
var endOfTime = time.Date(9999, time.December, 31, 23, 59, 59, 999e6, time.UTC)

// Delta returns the number of units from the epoch to t, rounded down: -1 throughout the last unit
// before the epoch. It is not bounded by the delta field. An instant more than 2^53 seconds, 285
// million years, from 1970 counts as one so far away.
func (a *Allocator) Delta(t time.Time) int64 {
	ms := min(max(t.Unix(), -1<<53), 1<<53)*1000 + int64(t.Nanosecond())/1e6 - a.epochMs
	delta := ms / a.unitMs
	if ms%a.unitMs < 0 {
		delta--
	}
	return delta
}

// Time returns the instant, in UTC, at which a delta begins. A delta below 0 counts as 0. For an
// instant beyond the year 9999 Time returns the last millisecond of that year.
func (a *Allocator) Time(delta int64) time.Time { return a.instant(uint64(max(delta, 0))) }

func (a *Allocator) instant(units uint64) time.Time {
	hi, ms := bits.Mul64(units, uint64(a.unitMs))
	if hi != 0 {
		return endOfTime
	}
	end := endOfTime.UnixMilli() - a.epochMs
	return time.UnixMilli(a.epochMs + int64(min(ms, uint64(end)))).UTC()
}

// Expires returns the end of the last unit: the instant at which a generator that keeps pace with
// the clock has used up the delta field. Like [Allocator.Time] it does not go beyond the year 9999.
func (a *Allocator) Expires() time.Time { return a.instant(uint64(a.maxDelta) + 1) }
