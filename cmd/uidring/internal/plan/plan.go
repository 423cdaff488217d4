// Package plan finds layouts that are sufficient for a workload, and the room that they leave.
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
	Rate           float64 // sustained IDs per second of all processes together
	Processes      int64   // running at once
	RestartsPerDay float64 // starts per day of all processes together
	Years          float64 // of 365.25 days, from Start on
	Datacenters    int64
	Start          time.Time // time of the first ID
}

const (
	day  = 24 * time.Hour
	year = 365.25 * 24 * time.Hour
	// mostYears is the longest span that a time.Duration holds.
	mostYears = 290
)

// Check reports all fields out of range.
func (n Need) Check() error {
	var errs []error
	bad := func(field string, given any, allowed string) {
		errs = append(errs, fmt.Errorf("%s %v, allowed: %s", field, given, allowed))
	}
	if !(n.Rate >= 0 && n.Rate <= 1e18) {
		bad("rate", n.Rate, "0 to 1e18 IDs a second")
	}
	if n.Processes < 1 || n.Processes > 1e12 {
		bad("processes", n.Processes, "1 to 1e12")
	}
	if !(n.RestartsPerDay >= 0 && n.RestartsPerDay <= 1e12) {
		bad("restarts-per-day", n.RestartsPerDay, "0 to 1e12")
	}
	if !(n.Years > 0 && n.Years <= mostYears) {
		bad("years", n.Years, fmt.Sprintf("above 0, at most %d", mostYears))
	}
	if n.Datacenters < 1 || n.Datacenters > 1e12 {
		bad("datacenters", n.Datacenters, "1 to 1e12")
	}
	return errors.Join(errs...)
}

// A Source is a kind of worker IDs.
type Source string

const (
	// Leased worker IDs are used again. A killed process keeps its worker ID for two windows while
	// its successor takes another: the layout needs twice as many worker IDs as processes.
	Leased Source = "leased"
	// Disposable worker IDs are used for one start each, from 1 on.
	Disposable Source = "disposable"
)

// workers returns the number of worker IDs that the need takes.
func (n Need) workers(source Source) float64 {
	if source == Leased {
		return 2 * float64(n.Processes)
	}
	return float64(n.Processes) + math.Ceil(n.RestartsPerDay*n.Years*float64(year)/float64(day))
}

// end returns the time until which the layout has to last.
func (n Need) end() time.Time { return n.Start.Add(time.Duration(n.Years * float64(year))) }

// perProcess returns the rate of one process.
func (n Need) perProcess() float64 { return n.Rate / float64(n.Processes) }

// A Verdict is the result of Judge.
type Verdict struct {
	Layout      bitsalloc.Layout `json:"layout"`
	Source      Source           `json:"workerIds"`
	Ends        time.Time        `json:"ends"` // when delta or the worker IDs are used up, whichever is first
	Workers     Room             `json:"workers"`
	Datacenters Room             `json:"datacenters"`
	Rate        Room             `json:"ratePerProcess"` // IDs per second of one process
	Faults      []string         `json:"faults"`         // why the layout is not sufficient; none: it is
}

// Room is the number of values that a need takes of a field, and the number that the field has.
type Room struct {
	Needed float64 `json:"needed"`
	Has    float64 `json:"has"`
}

// Left returns the unused part of the field in percent, below 0 if the field is too small.
func (r Room) Left() float64 { return 100 * (r.Has - r.Needed) / r.Has }

// Judge compares the fields of an allocator with a need.
func (n Need) Judge(alloc *bitsalloc.Allocator, source Source) Verdict {
	v := Verdict{
		Layout: alloc.Layout(), Source: source, Ends: alloc.Expires(),
		Workers:     Room{n.workers(source), float64(alloc.MaxWorkerID() + 1)},
		Datacenters: Room{float64(n.Datacenters), float64(alloc.MaxDatacenterID() + 1)},
		Faults:      []string{},
		Rate:        Room{n.perProcess(), float64(alloc.MaxSequence()+1) / alloc.Layout().Unit.Seconds()},
	}
	fault := func(format string, args ...any) { v.Faults = append(v.Faults, fmt.Sprintf(format, args...)) }
	if n.Start.Before(alloc.Epoch()) {
		fault("its epoch is later than the start")
	}
	if v.Ends.Before(n.end()) {
		fault("its time ends in %s", v.Ends.Format("2006-01"))
	}
	if source == Disposable {
		v.Workers.Has-- // 0 is never assigned
		if spent := n.spent(v.Workers.Has); spent.Before(v.Ends) {
			v.Ends = spent
		}
	}
	if v.Workers.Needed > v.Workers.Has {
		fault("%.0f worker IDs, needs %.0f", v.Workers.Has, v.Workers.Needed)
	}
	if v.Datacenters.Needed > v.Datacenters.Has {
		fault("%.0f datacenters, needs %.0f", v.Datacenters.Has, v.Datacenters.Needed)
	}
	if v.Rate.Needed > v.Rate.Has {
		fault("%.0f IDs a second of a process, needs %.0f", v.Rate.Has, math.Ceil(v.Rate.Needed))
	}
	return v
}

// spent returns the time when disposable worker IDs are used up.
func (n Need) spent(workers float64) time.Time {
	days := (workers - float64(n.Processes)) / n.RestartsPerDay
	if !(days*float64(day) < mostYears*float64(year)) { // also without restarts
		return n.Start.Add(mostYears * year)
	}
	return n.Start.Add(time.Duration(max(days, 0) * float64(day)))
}

// ErrImpossible is in the error of Fit if 63 bits are not enough.
var ErrImpossible = errors.New("plan: no layout is sufficient")

// Fit returns a layout for a need: each field is as wide as necessary, and the spare bits go to
// sequence, worker and delta in turn. If 63 bits are not enough, Fit returns ErrImpossible with the
// bits that each field takes.
func (n Need) Fit(unit time.Duration, epoch time.Time, source Source) (bitsalloc.Layout, error) {
	units := math.Ceil(float64(n.end().UnixMilli()-epoch.UnixMilli()) / float64(unit.Milliseconds()))
	workers := n.workers(source)
	if source == Disposable {
		workers++ // 0 is never assigned
	}
	widths := [...]int{
		max(1, width(units)),
		width(float64(n.Datacenters)),
		width(workers),
		width(n.perProcess() * unit.Seconds()),
	}
	const most = 63
	sum := widths[0] + widths[1] + widths[2] + widths[3]
	if sum > most {
		return bitsalloc.Layout{}, fmt.Errorf("%w with %s worker IDs: delta takes %d bits (%.0f units of %v), datacenter %d (%d), worker %d (%.0f), "+
			"sequence %d (%.0f IDs a unit of a process): %d, allowed: %d; more processes at a lower rate each, a later epoch or fewer years take less",
			ErrImpossible, source, widths[0], units, unit, widths[1], n.Datacenters, widths[2], workers, widths[3],
			math.Ceil(n.perProcess()*unit.Seconds()), sum, most)
	}
	for spare := range most - sum {
		widths[[...]int{3, 2, 0}[spare%3]]++
	}
	return bitsalloc.Layout{DeltaBits: uint8(widths[0]), DatacenterBits: uint8(widths[1]), WorkerBits: uint8(widths[2]),
		SequenceBits: uint8(widths[3]), Unit: unit}, nil
}

// width returns the bits of a field for a number of values.
func width(values float64) int {
	if values <= 1 {
		return 0
	}
	return bits.Len64(uint64(math.Ceil(values)) - 1)
}
