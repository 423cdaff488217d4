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

// units returns the window in units.
func (t *terms) units() int64 { return int64(t.window() / t.domain.Layout.Unit) }

// exclusive returns how long after the start of a claim or renewal the row cannot have another
// holder. The row expires after two windows by the store's clock, which starts later. Half a window
// is held back, since clocks run at different speeds.
func (t *terms) exclusive() time.Duration { return 3 * t.window() / 2 }

// beyond returns the delta that lies span above the clock or above the namespace's fence, whichever
// is higher: after a recovery all fences are ahead of the clock.
func (t *terms) beyond(clock time.Time, fence int64, span time.Duration) int64 {
	most := t.alloc.MaxDelta()
	return max(min(t.alloc.Delta(clock.Add(span)), most), above(fence, int64(span/t.domain.Layout.Unit), most))
}

// above returns delta + span, but at most most.
func above(delta, span, most int64) int64 { return delta + min(span, most-delta) }

// bounds is a look at both clocks. It limits fences: each line begins at now, or after a recovery
// at the namespace's fence.
//
//	|-- window --|                                a claim reaches so far above now or the free fence
//	|-- window --|-- window --|                   a renewal, at least, above now or used
//	|----- lead -----|                            free rows with fences beyond it are not taken
//	|----- lead -----|-- window --|-- window --|  a renewal, at most, see most
//	|----- lead -----|-- window --|-- window --|- unit, MaxSkew -|  a quarantine lasts so long
//
// A lossy store grants at most one window above its own clock instead, and a quarantine lasts for a
// window and MaxSkew.
type bounds struct {
	*terms
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
	b.now = t.domain.Now()
	here, store, bound := t.alloc.Time(b.now), b.status.Now, t.cfg.MaxSkew+t.domain.Layout.Unit
	if max(here.Sub(store).Abs(), b.status.Seen.Sub(store)) > bound {
		last := slices.MaxFunc([]time.Time{store, b.status.Seen}, time.Time.Compare)
		return b, fmt.Errorf("%w: it is %s on this host, and %s in the store or at its last write, allowed: a difference of %v; correct the clock "+
			"that is wrong, here or on the host that wrote", leasestore.ErrClockSkew, stamp(here), stamp(last), t.cfg.MaxSkew)
	}
	return b, nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// reach returns the fence for use up to span above delta. A lossy store bounds it by its own clock,
// so that grants that it has forgotten lie in the past when the next holder leaves quarantine.
func (b *bounds) reach(delta, span int64) int64 {
	most := b.alloc.MaxDelta()
	if b.status.Lossy {
		most = min(most, b.alloc.Delta(b.status.Now)+b.units())
	}
	return above(delta, span, most)
}

// lead returns how far ahead of the clock the fence of a free row may lie. The default on a store
// with an identity is the lead that a holder leaves behind if it keeps to the clock.
func (b *bounds) lead() time.Duration {
	if b.status.Identity != "" && !b.status.Lossy {
		return cmp.Or(b.cfg.MaxLead, 2*b.window())
	}
	return cmp.Or(b.cfg.MaxLead, 24*time.Hour)
}

// farthest returns the highest fence of a row that a claim may take. fence is the namespace's.
func (b *bounds) farthest(fence int64) int64 { return b.beyond(b.alloc.Time(b.now), fence, b.lead()) }

// most returns the highest fence for a holder that has used deltas up to used. A holder that is
// itself further ahead of the clock than lead is not bounded.
func (b *bounds) most(used, fence int64) int64 {
	if used > b.farthest(fence) {
		return b.alloc.MaxDelta()
	}
	return b.beyond(b.alloc.Time(b.now), fence, b.lead()+2*b.window())
}

// isolation returns how long a quarantine lasts. MaxSkew covers the difference of clocks.
func (b *bounds) isolation() time.Duration {
	if b.status.Lossy {
		return b.window() + b.cfg.MaxSkew
	}
	return b.lead() + 2*b.window() + b.domain.Layout.Unit + b.cfg.MaxSkew
}
