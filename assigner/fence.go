package assigner

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/storecall"
)

// The way of a renewal: package keeper decides when, this file how far, and lease.go changes the
// row. Package leasestore has the contract of stores, and sqlassigner/lease.go the statements.

// fences is the arithmetic of fences, in deltas, without a store and without a clock. from is the
// present, or after a recovery the fence of the namespace if that is higher: all fences lie above
// it then. Each line begins at from:
//
//	|--- window ---|                                   a claim grants so far, if the fence found is lower
//	|--- window ---|--- window ---|                    a renewal, if the holder keeps to the clock
//	|------------------ lead ------------|             a claim takes no row with a higher fence
//	|------------------ lead ------------|- reserve -| the cap: no fence is higher
//	|------------------------- cap ------------------|- a unit, 2 MaxSkew -|  a quarantine
//
// So fences follow the clock. A row whose fence is ahead of the clock already, such as after a
// crash, gets only a step more at a claim. A renewal adds the deltas that its holder needs in two
// windows at its pace, at first a step. So many crashes do not add up to minutes. The lead leaves
// room for the steps of a crash loop above two windows. The cap does not bind a holder that is
// itself further ahead of the clock than the lead, see LeaseConfig.MaxLead.
//
// After a failover that loses commits, the quarantine is over when all deltas up to the cap are
// past. MaxSkew counts twice: the host of the forgotten holder was ahead of the old server's clock,
// and that ahead of the new server's.
//
// A lossy store grants at most one window above its own clock instead, and its quarantine lasts for
// a window and MaxSkew.
type fences struct {
	window  int64
	step    int64 // about a second
	lead    int64
	reserve int64
	skew    int64 // MaxSkew
	end     int64 // the last delta of the layout
	last    int64 // the highest fence of any swap: end, or a window above a lossy store's clock

	quarantine int64 // how far above the present the deltas may lie that a store has forgotten
}

// capped returns delta + n, but at most last.
func capped(delta, n, last int64) int64 { return delta + min(n, last-delta) }

// farthest returns the highest fence of a row that a claim may take.
func (f fences) farthest(from int64) int64 { return capped(from, f.lead, f.end) }

// ceiling returns the cap above from. A short MaxLead does not keep renewals from two windows.
func (f fences) ceiling() int64 { return max(f.lead, 2*f.window) + f.reserve }

// most returns the highest fence for a holder that has used deltas up to used.
func (f fences) most(from, used int64) int64 {
	if used > capped(from, f.lead+f.step, f.end) { // a claim alone leads a step beyond the lead
		return f.last
	}
	return capped(from, f.ceiling(), f.last)
}

// forClaim returns the fence of a claim of a row with the fence found.
func (f fences) forClaim(from, found int64) int64 {
	return max(found, capped(from, f.window, f.last), capped(found, f.step, f.last))
}

// forRenewal returns the fence of a renewal of a row with the fence held, after a use up to used.
// Below the cap a fence rises by one unit at least: a late swap from the old row must fail.
func (f fences) forRenewal(from, held, used, want int64, p pace) int64 {
	// Last want, which may come from a clock that was wrong for a moment. MaxSkew is always
	// allowed.
	want = min(want, capped(max(used, held), max(2*p.need, 2*f.skew), f.last))
	wanted := max(held+1, want, capped(from, 2*f.window, f.last), capped(used, p.need, f.last))
	return max(held, min(wanted, f.most(from, used)))
}

// A pace measures how fast a generator uses deltas: it had used deltas up to used when this host's
// clock was at the delta at. need is the number of deltas that it uses in two windows at that rate.
type pace struct{ used, at, need int64 }

// begin returns the pace of a holder that claims at now, as if it had renewed before.
func (f fences) begin(from, now, found int64) pace {
	used := max(found, from)
	return pace{used: used + 1, at: now, need: max(from+2*f.window-used, f.step)}
}

// follow returns the pace after a use up to used at now. The need changes at most twofold or by
// half at a time, and is a step at least.
func (f fences) follow(p pace, used, now int64) pace {
	//mutate:argument the need is at least half of the last one
	rate := max(float64(used-p.used)/float64(max(now-p.at, 1)), 0)
	//mutate:number any bound keeps the rate from overflowing
	wanted := int64(min(rate*float64(2*f.window), float64(f.end/2)))
	return pace{used, now, max(min(max(wanted, p.need/2), 2*p.need), f.step)}
}

// released returns the fence that a holder leaves behind: the highest delta of which it has issued
// an ID, but at least first - 1 of its grant. The fence that its claim has found may be lower:
// after a quarantine the deltas in between may be in use by a holder that the store has forgotten.
func released(fence, used, first int64) int64 { return min(fence, max(used, first-1)) }

// terms are common to all leases of an assigner for a domain. They give the spans of a
// configuration in the units of the domain, and the limits of fences.
type terms struct {
	cfg    LeaseConfig
	domain Domain
	alloc  *bitsalloc.Allocator
}

// window returns LeaseConfig.Window, at least one unit.
func (t terms) window() time.Duration { return max(t.cfg.Window, t.domain.Layout.Unit) }

// exclusive returns how long after the start of a claim or renewal the row cannot have another
// holder. The row expires after two windows by the store's clock, which starts later. Half a window
// is held back, since clocks run at different speeds. A clock that is set forward by more, shortly
// before a failover that loses a takeover, is a condition of IDENTITY.md.
func (t terms) exclusive() time.Duration { return 3 * t.window() / 2 }

// units returns a span in units, rounded down.
func (t terms) units(span time.Duration) int64 { return int64(span / t.domain.Layout.Unit) }

// span returns n units.
func (t terms) span(n int64) time.Duration { return time.Duration(n) * t.domain.Layout.Unit }

// fences returns the limits of fences on a store. Without an identity of the store there is no
// quarantine to keep short.
func (t terms) fences(s leasestore.Status) fences {
	window := t.units(t.window())
	f := fences{window: window, step: min(max(t.units(time.Second), 1), window), end: t.alloc.MaxDelta(),
		skew: t.units(t.cfg.MaxSkew + t.domain.Layout.Unit - 1)} //mutate:number a nanosecond
	f.reserve = max(window/2, 2*f.step)
	f.lead = t.units(cmp.Or(t.cfg.MaxLead, 24*time.Hour))
	if t.cfg.MaxLead == 0 && s.Identity != "" && !s.Lossy {
		f.lead = 2*window + f.reserve
	}
	f.last = f.end //mutate:swap neither reads the other
	f.quarantine = f.ceiling() + 1 + 2*f.skew
	if s.Lossy { // so that grants that it has forgotten lie in the past when the next holder leaves quarantine
		f.last = min(f.end, t.alloc.Delta(s.Now)+window)
		f.quarantine = window + f.skew
	}
	return f
}

// A view is the status of the store and the reading of this host's clock at one moment, in deltas,
// with the limits of fences that follow.
type view struct {
	status leasestore.Status
	fences fences
	now    int64 // by this host's clock
	store  int64 // by the store's clock
	passed int64 // the first delta that Horizon does not take for past: holders of lower ones issue no IDs any more
}

// view returns an error for a store with faults, and when the clocks disagree.
func (t terms) view(s leasestore.Status, now int64) (view, error) {
	if len(s.Faults) > 0 && !t.cfg.AllowUndurable {
		return view{}, fmt.Errorf("%w: %s; correct the settings, or set AllowUndurable to accept the risk", leasestore.ErrNotDurable, strings.Join(s.Faults, "; "))
	}
	here, bound := t.alloc.Time(now), t.cfg.MaxSkew+t.domain.Layout.Unit
	if max(here.Sub(s.Now).Abs(), s.Seen.Sub(s.Now)) > bound {
		there, remedy := stamp(s.Now)+" in the store", "correct the clock that is wrong"
		if here.Sub(s.Now).Abs() <= bound { //mutate:operator an instant
			there, remedy = stamp(s.Seen)+" at the last write to the store", remedy+", here or on the host that wrote; if both are right now, that "+
				"write has a wrong time: wait until then, or run Recover"
		}
		return view{}, fmt.Errorf("%w: it is %s on this host, and %s, allowed: a difference of %v; %s", leasestore.ErrClockSkew, stamp(here), there, t.cfg.MaxSkew, remedy)
	}
	return view{s, t.fences(s), now, t.alloc.Delta(s.Now), max(t.alloc.Delta(s.Now.Add(-storecall.ClockBound)), 1)}, nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// from returns the delta above which the limits count. fence is the namespace's.
func (v view) from(fence int64) int64 { return max(v.now, fence) }

// forgotten returns the highest delta that a store may have forgotten when a quarantine begins.
// fence is the namespace's.
func (v view) forgotten(fence int64) int64 {
	return capped(max(v.store, fence), v.fences.quarantine, v.fences.end)
}
