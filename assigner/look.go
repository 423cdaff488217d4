package assigner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/storecall"
)

// terms are common to all leases of an assigner for a domain.
type terms struct {
	*leaser
	domain Domain
	alloc  *bitsalloc.Allocator
	here   fencedKey // of Fenced
}

// window returns LeaseConfig.Window, at least one unit.
func (t *terms) window() time.Duration { return max(t.cfg.Window, t.domain.Layout.Unit) }

// units returns a span in units, rounded down.
func (t *terms) units(span time.Duration) int64 { return int64(span / t.domain.Layout.Unit) }

// isolation returns how long a quarantine lasts.
func (b *bounds) isolation() time.Duration {
	return time.Duration(b.limits.quarantine()) * b.domain.Layout.Unit
}

// exclusive returns how long after the start of a claim or renewal the row cannot have another
// holder. The row expires after two windows by the store's clock, which starts later. Half a window
// is held back, since clocks run at different speeds. A clock that is set forward by more, shortly
// before a failover that loses a takeover, is a condition of IDENTITY.md.
func (t *terms) exclusive() time.Duration { return 3 * t.window() / 2 }

// bounds is a look at both clocks, and the limits of fences that follow.
type bounds struct {
	*terms
	limits fences
	status leasestore.Status
	now    int64
}

// look reads the server's status and this host's clock. It returns an error for a store with
// faults, and when the clocks disagree.
func (t *terms) look(ctx context.Context) (b bounds, err error) {
	b.terms = t
	if b.status, err = t.store.Status(ctx); err != nil {
		return b, fmt.Errorf("assigner: read the status of the store: %w", err)
	}
	if len(b.status.Faults) > 0 && !t.cfg.AllowUndurable {
		return b, fmt.Errorf("%w: %s; correct the settings, or set AllowUndurable to accept the risk", leasestore.ErrNotDurable, strings.Join(b.status.Faults, "; "))
	}
	b.now, b.limits = t.domain.Now(), t.limitsOn(b.status)
	here, store, bound := t.alloc.Time(b.now), b.status.Now, t.cfg.MaxSkew+t.domain.Layout.Unit
	if max(here.Sub(store).Abs(), b.status.Seen.Sub(store)) > bound {
		last := slices.MaxFunc([]time.Time{store, b.status.Seen}, time.Time.Compare)
		return b, fmt.Errorf("%w: it is %s on this host, and %s in the store or at its last write, allowed: a difference of %v; correct the clock "+
			"that is wrong, here or on the host that wrote", leasestore.ErrClockSkew, stamp(here), stamp(last), t.cfg.MaxSkew)
	}
	return b, nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// limitsOn returns the limits of fences on a store. Without an identity of the store there is no
// quarantine to keep short.
func (t *terms) limitsOn(s leasestore.Status) fences {
	window := t.units(t.window())
	f := fences{window: window, step: min(max(t.units(time.Second), 1), window), end: t.alloc.MaxDelta(), lossy: s.Lossy,
		skew: t.units(t.cfg.MaxSkew + t.domain.Layout.Unit - 1)}
	f.reserve = max(window/2, 2*f.step)
	f.lead = t.units(cmp.Or(t.cfg.MaxLead, 24*time.Hour))
	if t.cfg.MaxLead == 0 && s.Identity != "" && !s.Lossy {
		f.lead = 2*window + f.reserve
	}
	f.last = f.end
	if s.Lossy { // so that grants that it has forgotten lie in the past when the next holder leaves quarantine
		f.last = min(f.last, t.alloc.Delta(s.Now)+window)
	}
	return f
}

// from returns the delta above which the limits count. fence is the namespace's.
func (b *bounds) from(fence int64) int64 { return max(b.now, fence) }

// forgotten returns the highest delta that a store may have forgotten when a quarantine begins.
// fence is the namespace's.
func (b *bounds) forgotten(fence int64) int64 {
	return above(max(b.alloc.Delta(b.status.Now), fence), b.limits.quarantine(), b.limits.end)
}

// passed returns the first delta that Horizon does not take for past: a holder whose deltas all lie
// below it issues no ID any more.
func (b *bounds) passed() int64 { return b.alloc.Delta(b.status.Now.Add(-storecall.ClockBound)) }
