// Package metrics describes the Stats of generators as metrics, each with a name, a meaning and a
// func that reads it. It publishes them by expvar; the modules metrics/prometheus and metrics/otel
// pass the same metrics on to Prometheus and OpenTelemetry.
//
//	err := metrics.Publish("ids", generator.Stats)
//
// The names follow the fields of Stats, in the form of Prometheus: WindowLasts is
// uidring_window_lasts_seconds, RejectedTakes is uidring_rejected_takes_total. They do not change
// within a major version. The names for package segment begin with uidring_segment_.
// The examples of All list all names; docs/OPERATIONS.md has the metrics to watch.
//
// metrics is a package of its own because expvar links net/http and registers a handler; programs
// that import only a generator link neither.
package metrics

import (
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/segment"
)

// Stats is the Stats of package cached, defaultgen or segment, or a struct that embeds one; not a
// pointer.
type Stats interface {
	// Snapshot returns the Stats of the package, also for the zero value.
	Snapshot() any
}

// A Metric describes one number of a generator.
type Metric[S Stats] struct {
	Name    string // lower case, with the unit of a gauge or counter that has one, and _total if it is a counter
	Help    string // one sentence
	Unit    string // in the notation of UCUM: "s", or the things counted, such as "{id}"; empty for numbers that are names
	Counter bool   // counts up from 0 while the generator lives; else a gauge

	// Value reads the number. ok is false when the generator has none at present, such as a window
	// without a fence. Counters are exact up to 2^53.
	Value func(S) (value float64, ok bool)
}

// All returns the metrics of the generators that have these Stats, in the order of their
// documentation. cached has the metrics of defaultgen and more; segment has its own. Stats of
// another package, pointers and interfaces have none.
func All[S Stats]() (all []Metric[S]) {
	defer func() { _ = recover() }() // of the Snapshot of a nil pointer or interface
	var none S
	switch none.Snapshot().(type) {
	case cached.Stats:
		ring := func(s S) cached.Stats { return s.Snapshot().(cached.Stats) }
		return append(describe("uidring_", leaseRows, ring), describe("uidring_", ringRows, ring)...)
	case defaultgen.Stats:
		return describe("uidring_", leaseRows, func(of S) cached.Stats {
			s := of.Snapshot().(defaultgen.Stats)
			return cached.Stats{
				WorkerID: s.WorkerID, DatacenterID: s.DatacenterID, LastGranted: s.LastGranted, Window: s.Window, WindowLasts: s.WindowLasts,
				RejectedTakes: s.RejectedTakes, Renewals: s.Renewals, RenewFailures: s.RenewFailures, Ahead: s.Ahead, Expires: s.Expires,
			}
		})
	case segment.Stats:
		return describe("uidring_segment_", segmentRows, func(s S) segment.Stats { return s.Snapshot().(segment.Stats) })
	}
	return nil
}
