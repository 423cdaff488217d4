package keeper

import (
	"errors"
	"log/slog"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/storecall"
)

// A report remembers the records that the log has, so that each comes once. Only the goroutine, and
// Start before it, use it.
type report struct {
	leftOut bool      // the Layout was left out
	failure error     // the kind of the failure logged last: errOutage, or of kindOf; nil after a success
	short   bool      // callers get no IDs
	answer  time.Time // time of the last call to the store without an error
	ends    bool      // the layout ends within a year
	leads   bool      // ID time runs ahead
}

// Kinds of failures beside the errors of package assigner.
var (
	errOutage = errors.New("calls to the store fail")
	errWait   = errors.New("another error that passes")
)

// kindOf returns the kind of an error that passes: its text has times that change.
func kindOf(err error) error {
	if errors.Is(err, assigner.ErrQuarantined) {
		return assigner.ErrQuarantined
	}
	return errWait
}

// differs reports whether a failure is of another kind than the last one.
func (r *report) differs(kind error) bool {
	before := r.failure
	r.failure = kind
	return before != kind
}

// succeeded resets the failure state. It reports only the end of an outage: claim has already
// reported a worker ID that ends a wait.
func (k *Keeper) succeeded(kept bool) {
	if k.report.failure == errOutage {
		grant := k.Latest().Grant
		k.Logger.Info("worker ID: the store answers again", workerOf(grant))
		if kept {
			generator.Report(k.Logger, "LeaseKept", k.Trace.LeaseKept, assigner.LeaseInfo{Grant: grant})
		}
	}
	k.lastErr.Store(nil) //mutate:swap the two lines are independent
	k.delay, k.report.failure, k.report.short, k.report.answer = 0, nil, false, time.Now()
}

// failed reports a call to the store that failed, and logs the first one of an outage.
func (k *Keeper) failed(err error) {
	k.Failures.Add(1) //mutate:swap the two are independent
	state := k.Latest()
	if k.report.differs(errOutage) {
		//mutate:argument tests run in UTC
		record := []any{workerOf(state.Grant), "error", err, "last_answer", k.report.answer.UTC().Format(time.RFC3339)}
		if state.Fenced() {
			_, lasts := k.Window()
			//mutate:argument tests run in UTC
			record = append(record, "ids_for", lasts.Truncate(time.Second).String(), "ids_until", time.Now().Add(lasts).UTC().Format(time.RFC3339))
		}
		k.Logger.Warn("worker ID: call to the store failed", record...)
	}
}

// reportShortage reports, once in an outage, that no grant covers the present.
func (k *Keeper) reportShortage(err error) {
	state := k.Current()
	if _, position := k.hooks.Deltas(); k.report.short || state != nil && position < state.Last {
		return
	}
	k.report.short = true
	remedy := "do what the error says"
	switch _, passes := uidring.RetryAfter(err); {
	case passes: // the error has the time to wait
		remedy = "wait; do not restart processes, since a start waits as well"
	case storecall.Passes(err):
		remedy = "bring the store back; restart a process only if others reach the store, since a start needs it"
	}
	k.Logger.Error("worker ID: callers get no IDs", workerOf(k.Latest().Grant), "calls", "Next returns ErrLeaseExhausted, NextContext waits",
		"remedy", remedy, "error", err)
}

// workerOf returns the worker ID for a record, with its namespace if it has one: two generators of
// a process may have the same worker ID, of two namespaces.
func workerOf(g assigner.Grant) slog.Attr {
	if g.Namespace == "" {
		return slog.Int64("worker", g.WorkerID)
	}
	return slog.Group("", "worker", g.WorkerID, "namespace", g.Namespace)
}

// announceClaim reports a lease. Operators find out by its record later who issued an ID.
func (k *Keeper) announceClaim(s *State) {
	k.Logger.Info("worker ID assigned", "library", "uidring", workerOf(s.Grant), "datacenter", k.DatacenterID, "guarantee", s.Guarantee.String(),
		"layout", k.Alloc.Layout().String(), "ends", k.Alloc.Expires().Format(time.DateOnly))
	k.announceStart(s)
	k.announce(s)
	generator.Report(k.Logger, "LeaseAssigned", k.Trace.LeaseAssigned, assigner.LeaseInfo{Grant: s.Grant})
}

// longLead is how far ID time may be ahead of the clock before the Keeper warns: the default of
// MaxLead of a lease, beyond which a failover that loses commits may repeat IDs.
const longLead = 5 * time.Minute

// announceLayout warns of a layout that was left out: it must stay as it is once there are IDs.
func (k *Keeper) announceLayout() {
	if !k.report.leftOut {
		return
	}
	layout := k.Alloc.Layout()
	k.Logger.Warn("the Layout was left out, and cannot change later", "layout", layout.String(),
		"ids_per_second", int64(time.Second/layout.Unit)*(k.Alloc.MaxSequence()+1), "ends", k.Alloc.Expires().Format(time.DateOnly), "worker_ids", k.Alloc.MaxWorkerID()+1,
		"remedy", "write one down: bitsalloc.Recommended() for leased worker IDs, or bitsalloc.Default() to keep this one")
}

// announceStart warns when the first unit of a new lease is ahead of the clock by more than 3 s and
// three units, which a few restarts within a unit may use up.
func (k *Keeper) announceStart(s *State) {
	ahead := s.First - s.Delta
	if s.Reused() && !k.AllowReuse {
		ahead -= k.MaxAhead // for which a start waits
	}
	if ahead <= max(3, int64(3*time.Second/k.Alloc.Layout().Unit)) {
		return
	}
	until, calls := s.First, "IDs have a time that is so far ahead of the clock"
	if ahead > k.MaxAhead {
		until, calls = s.First-k.MaxAhead, "Next returns an error until then, NextContext waits"
	}
	k.Logger.Warn("worker ID begins ahead of the clock", workerOf(s.Grant), "ahead", (time.Duration(ahead) * k.Alloc.Layout().Unit).String(),
		"until", k.Alloc.Time(until).UTC().Format(time.RFC3339), "calls", calls,
		"remedy", "after a crash, a failover or a Recover wait, or allow IDs ahead of the clock (cached: MaxAhead, defaultgen: OnClockBack GoOn); call Close when a process ends; after a burst choose a layout with more sequence bits")
}

// announce warns, once each, when the layout ends within a year, and when callers have driven ID
// time further ahead of the clock than longLead. The units that a lease begins ahead do not count.
func (k *Keeper) announce(s *State) {
	if !k.report.ends && k.Alloc.Time(s.position).AddDate(1, 0, 0).After(k.Alloc.Expires()) {
		k.report.ends = true
		k.Logger.Warn("the delta field is used up within a year", "expires", k.Alloc.Expires(), "layout", k.Alloc.Layout().String())
	}
	at := k.Alloc.Time(s.position - max(s.First-s.Delta, 0)) //mutate:number a unit more
	//mutate:operator a nanosecond more
	if lead := min(at.Sub(k.Now()), at.Sub(s.Clock.Now())); !k.report.leads && lead > longLead {
		k.report.leads = true
		k.Logger.Warn("ID time runs ahead of the clock", "ahead", lead.Truncate(time.Minute).String(), "layout", k.Alloc.Layout().String(),
			"remedy", "a layout with more sequence bits, or MaxAhead: a failover that loses commits may repeat IDs that are further ahead than MaxLead")
	}
}
