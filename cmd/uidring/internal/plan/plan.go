// Package plan finds layouts that are sufficient for a workload.
package plan

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// A Need is a workload. All fields but Datacenters describe the largest datacenter.
type Need struct {
	Rate        float64 // sustained IDs per second of all processes together
	Processes   int64   // running at once
	Years       float64 // of 365.25 days, from Start on
	Datacenters int64
	Start       time.Time // time of the first ID
}

const (
	year = 365.25 * 24 * time.Hour
	// mostYears is the longest span that a time.Duration holds.
	mostYears = 290
)

// Check reports all fields out of range.
func (n Need) Check() error {
	var errs []error
	check := func(field string, given, least, most float64, allowed string) {
		if !(given >= least && given <= most) { // also of NaN
			errs = append(errs, fmt.Errorf("%s %v, allowed: %s", field, given, allowed))
		}
	}
	check("rate", n.Rate, 0, 1e18, "0 to 1e18 IDs a second")
	check("processes", float64(n.Processes), 1, 1e12, "1 to 1e12")
	check("years", n.Years, math.SmallestNonzeroFloat64, mostYears, fmt.Sprintf("above 0, at most %d", mostYears))
	check("datacenters", float64(n.Datacenters), 1, 1e12, "1 to 1e12")
	return errors.Join(errs...)
}

// workers returns the number of leased worker IDs that the need takes. A killed process keeps its
// worker ID for two windows while its successor takes another.
func (n Need) workers() float64 { return 2 * float64(n.Processes) }

// end returns the time until which the layout has to last.
func (n Need) end() time.Time { return n.Start.Add(time.Duration(n.Years * float64(year))) }

// perProcess returns the rate of one process.
func (n Need) perProcess() float64 { return n.Rate / float64(n.Processes) }

// A Verdict is the result of Judge, with the number of values of each field.
type Verdict struct {
	Layout      bitsalloc.Layout `json:"layout"`
	Ends        time.Time        `json:"ends"` // when delta is used up
	Workers     float64          `json:"workers"`
	Datacenters float64          `json:"datacenters"`
	Rate        float64          `json:"ratePerProcess"` // IDs per second of one process
	Faults      []string         `json:"faults"`         // why the layout is not sufficient; none: it is
}

// Judge compares the fields of an allocator, whose epoch is not after Start, with a need.
func (n Need) Judge(alloc *bitsalloc.Allocator) Verdict {
	v := Verdict{
		Layout: alloc.Layout(), Ends: alloc.Expires(),
		Workers: float64(alloc.MaxWorkerID() + 1), Datacenters: float64(alloc.MaxDatacenterID() + 1),
		Rate:   float64(alloc.MaxSequence()+1) / alloc.Layout().Unit.Seconds(),
		Faults: []string{},
	}
	fault := func(format string, args ...any) { v.Faults = append(v.Faults, fmt.Sprintf(format, args...)) }
	if v.Ends.Before(n.end()) {
		fault("needs to last until %s", n.end().Format("2006-01"))
	}
	if n.workers() > v.Workers {
		fault("needs %.0f worker IDs", n.workers())
	}
	if float64(n.Datacenters) > v.Datacenters {
		fault("needs %d datacenters", n.Datacenters)
	}
	if n.perProcess() > v.Rate {
		fault("needs %.0f IDs/s", math.Ceil(n.perProcess()))
	}
	return v
}

// Fit returns a layout for a need: each field is as wide as necessary, and the spare bits go to
// sequence, worker and delta in turn. If 63 bits are not enough, the error names the bits that each
// field takes. IDs end with the year 9999.
func (n Need) Fit(unit time.Duration, epoch time.Time) (bitsalloc.Layout, error) {
	if n.end().Year() > 9999 {
		return bitsalloc.Layout{}, errors.New("plan: no layout is sufficient: all end with the year 9999, allowed: an earlier start or fewer years")
	}
	units := math.Ceil(float64(n.end().UnixMilli()-epoch.UnixMilli()) / float64(unit.Milliseconds()))
	delta, datacenter := max(1, width(units)), width(float64(n.Datacenters))
	worker, sequence := width(n.workers()), width(n.perProcess()*unit.Seconds())
	spare := 63 - delta - datacenter - worker - sequence
	if spare < 0 {
		return bitsalloc.Layout{}, fmt.Errorf("plan: no layout is sufficient: delta takes %d bits, datacenter %d, worker %d, sequence %d: %d, "+
			"allowed: 63; more processes at a lower rate each, a later epoch or fewer years take less", delta, datacenter, worker, sequence, 63-spare)
	}
	return bitsalloc.Layout{DeltaBits: uint8(delta + spare/3), DatacenterBits: uint8(datacenter), WorkerBits: uint8(worker + (spare+1)/3),
		SequenceBits: uint8(sequence + (spare+2)/3), Unit: unit}, nil
}

// width returns the bits of a field for a number of values.
func width(values float64) int {
	if values <= 1 {
		return 0
	}
	return bits.Len64(uint64(math.Ceil(values)) - 1)
}
