package assigner

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// clockBound is how far the clocks of this host and of the store may differ when a worker ID is taken: the
// fence of a host whose clock is wrong would spoil the worker ID for everybody after it.
const clockBound = time.Minute

// A LeaseConfig says how leases are taken and renewed. Its zero value is ready to use.
type LeaseConfig struct {
	// Window is how long the store may be out of reach, at the present rate of use, before a generator runs
	// out of deltas; at least one unit. It is also how much ID time a crash wastes. Zero: 30 s.
	Window time.Duration
	// MaxLead is how far ahead of the clock a fence may lie for its worker ID to be taken. Zero: 24 h.
	MaxLead time.Duration
	// Owner names this process in the store, for people. Empty: host name and process number.
	Owner string
	// AllowUndurable accepts a store that may forget what it has acknowledged, with a warning. Then nothing
	// keeps a worker ID from being used twice after a crash of the store.
	AllowUndurable bool
	// Logger receives that warning; nil: none.
	Logger *slog.Logger
}

// Leased takes worker IDs from a pool in a store: first one that an earlier holder has left, by releasing it or by
// not renewing it for two windows, and a new one when there is none. Expiry only says when a worker ID may be offered
// again. What keeps two holders apart is the fence: each claim and each renewal hands out a slice of deltas
// that no other hands out, whatever clocks, pauses and messages that arrive late do. Prior art are the windows of
// timestamp oracles (Percolator, TiKV PD) and segment allocation (Leaf, TinyId).
//
// The grant is [GuaranteeFenced], on a store that calls itself lossy [GuaranteeLossy].
func Leased(store Store, cfg LeaseConfig) Assigner {
	return newLeaser(store, cfg, (*claim).recycledFirst)
}

// Auto is [Leased] in the other order: new worker IDs while they last, then recycled ones.
func Auto(store Store, cfg LeaseConfig) Assigner { return newLeaser(store, cfg, (*claim).newFirst) }

// Fenced puts a fence behind a worker ID that comes from elsewhere. While another owner holds a lease on it,
// Assign returns [ErrWorkerInUse], naming the owner; the same owner takes it over at once, which the fence keeps safe. owner
// is what tells two processes apart that must not share the number, and stays the same over their restarts, such as a
// host name or an address.
func Fenced(store Store, workerID int64, owner string, cfg LeaseConfig) Assigner {
	l := newLeaser(store, cfg, func(c *claim) (*lease, error) { return c.fixed(workerID) })
	l.cfg.Owner = owner
	if owner == "" {
		l.err = errors.Join(l.err, errors.New("assigner: Fenced: owner empty, allowed: a name that tells processes apart"))
	}
	return l
}

// A leaser is an assigner on a store.
type leaser struct {
	store  Store
	cfg    LeaseConfig
	choose func(*claim) (*lease, error)
	err    error // what is wrong with the configuration
}

func newLeaser(store Store, cfg LeaseConfig, choose func(*claim) (*lease, error)) *leaser {
	cfg.Window = cmp.Or(cfg.Window, 30*time.Second)
	cfg.MaxLead = cmp.Or(cfg.MaxLead, 24*time.Hour)
	if cfg.Owner == "" {
		host, _ := os.Hostname() // for people: the process number alone will do
		cfg.Owner = fmt.Sprintf("%s pid %d", host, os.Getpid())
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	l := &leaser{store: store, cfg: cfg, choose: choose}
	if store == nil {
		l.err = errors.Join(l.err, errors.New("assigner: store nil, allowed: any"))
	}
	if cfg.Window < 0 {
		l.err = errors.Join(l.err, fmt.Errorf("assigner: Window %v, allowed: 0 (30 s) or more", cfg.Window))
	}
	if cfg.MaxLead < 0 {
		l.err = errors.Join(l.err, fmt.Errorf("assigner: MaxLead %v, allowed: 0 (24 h) or more", cfg.MaxLead))
	}
	return l
}

// Assign implements [Assigner].
func (a *leaser) Assign(ctx context.Context, d Domain) (Lease, error) {
	if a.err != nil {
		return nil, a.err
	}
	alloc, err := bitsalloc.New(d.Layout, d.Epoch)
	if err != nil {
		return nil, err
	}
	c := &claim{leaser: a, ctx: ctx, domain: d, alloc: alloc}
	if c.status, err = a.store.Status(ctx); err != nil {
		return nil, fmt.Errorf("assigner: look at the store: %w", err)
	}
	if err := errors.Join(c.checkServer(), c.checkMeta()); err != nil {
		return nil, err
	}
	l, err := a.choose(c)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// A claim is one call of Assign.
type claim struct {
	*leaser
	ctx    context.Context
	domain Domain
	alloc  *bitsalloc.Allocator
	status Status
	meta   Meta
	now    int64 // the delta when the claim began, by this host's clock
}

// checkServer refuses a store that forgets, and clocks that disagree.
func (c *claim) checkServer() error {
	if faults := c.status.Faults; len(faults) > 0 {
		if !c.cfg.AllowUndurable {
			return fmt.Errorf("%w: %s; correct that, or set AllowUndurable to take the risk", ErrStoreNotDurable, strings.Join(faults, "; "))
		}
		c.cfg.Logger.Warn("assigner: the store may forget what it has acknowledged", "faults", faults)
	}
	c.now = c.domain.Now()
	skew := c.alloc.Time(c.now).Sub(c.status.Now)
	if skew.Abs() > clockBound+c.domain.Layout.Unit {
		return fmt.Errorf("%w: this host is %v ahead of the store, allowed: %v either way; correct the clock that is wrong",
			ErrClockSkew, skew, clockBound)
	}
	return nil
}

// checkMeta reads how IDs are composed in this namespace, and writes it if nobody has.
func (c *claim) checkMeta() (err error) {
	for c.ctx.Err() == nil {
		if c.meta, err = c.store.LoadMeta(c.ctx); err != nil {
			return fmt.Errorf("assigner: read the meta row: %w", err)
		}
		if c.meta.Version != 0 {
			return c.meta.mismatch(c.domain)
		}
		first := Meta{Version: 1, Namespace: rand.Text(), Layout: c.domain.Layout, Epoch: c.domain.Epoch, DatacenterID: c.domain.DatacenterID}
		// Whether it took effect is seen by reading again.
		if _, err := c.store.SwapMeta(c.ctx, Meta{}, first); err != nil {
			return fmt.Errorf("assigner: write the meta row: %w", err)
		}
	}
	return c.ctx.Err()
}

func (c *claim) recycledFirst() (*lease, error) {
	l, ahead, err := c.recycled()
	if l != nil || err != nil {
		return l, err
	}
	if l, err = c.fresh(); l != nil || err != nil {
		return l, err
	}
	return nil, c.none(ahead)
}

func (c *claim) newFirst() (*lease, error) {
	if l, err := c.fresh(); l != nil || err != nil {
		return l, err
	}
	l, ahead, err := c.recycled()
	if l != nil || err != nil {
		return l, err
	}
	return nil, c.none(ahead)
}

// none says why there is no worker ID.
func (c *claim) none(ahead int) error {
	if ahead > 0 {
		return fmt.Errorf("%w: %d of %d are free, all with fences more than %v ahead; wait, or raise MaxLead",
			ErrWorkerAheadOfClock, ahead, c.domain.MaxWorkerID()+1, c.cfg.MaxLead)
	}
	return fmt.Errorf("%w: all %d are held; wait until one is released, or use a layout with more worker bits in "+
		"another namespace", ErrWorkersExhausted, c.domain.MaxWorkerID()+1)
}

// farthest is the highest fence of a row that may be taken.
func (c *claim) farthest() int64 { return c.now + int64(c.cfg.MaxLead/c.domain.Layout.Unit) }

// recycled takes a row that nobody holds, one with a fence in the past if there is any. ahead counts
// the rows whose fence lies too far in the future.
func (c *claim) recycled() (l *lease, ahead int, err error) {
	rows, err := c.store.List(c.ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("assigner: list the rows: %w", err)
	}
	var past, future []Row
	for _, row := range rows {
		switch {
		case row.Token != "" && row.Expires.After(c.status.Now) || row.WorkerID > c.domain.MaxWorkerID():
		case row.Fence <= c.now:
			past = append(past, row)
		case row.Fence <= c.farthest():
			future = append(future, row)
		default:
			ahead++
		}
	}
	// In random order, so that processes that start at once do not all try the same row.
	mathrand.Shuffle(len(past), func(i, j int) { past[i], past[j] = past[j], past[i] })
	slices.SortFunc(future, func(a, b Row) int { return cmp.Compare(a.Fence, b.Fence) })
	for _, row := range append(past, future...) {
		if l, err = c.take(row); l != nil || err != nil {
			return l, ahead, err
		}
	}
	return nil, ahead, nil
}

// fresh takes the next number that was never given out, or none when there is none left.
func (c *claim) fresh() (*lease, error) {
	for c.ctx.Err() == nil {
		if c.meta.NextWorkerID > c.domain.MaxWorkerID() {
			return nil, nil
		}
		next := c.meta
		next.Version++
		next.NextWorkerID++
		ok, err := c.store.SwapMeta(c.ctx, c.meta, next)
		if err != nil {
			return nil, fmt.Errorf("assigner: count the worker IDs: %w", err) // a number may be wasted
		}
		if ok {
			number := c.meta.NextWorkerID
			c.meta = next
			if l, err := c.take(Row{WorkerID: number}); l != nil || err != nil {
				return l, err
			}
			continue
		}
		if err := c.checkMeta(); err != nil {
			return nil, err
		}
	}
	return nil, c.ctx.Err()
}

// fixed takes a given number, unless another owner holds it.
func (c *claim) fixed(workerID int64) (*lease, error) {
	if err := c.domain.CheckWorkerID(workerID, "Fenced"); err != nil {
		return nil, err
	}
	for c.ctx.Err() == nil {
		row, err := c.store.Load(c.ctx, workerID)
		if err != nil {
			return nil, fmt.Errorf("assigner: read row %d: %w", workerID, err)
		}
		if row.Token != "" && row.Owner != c.cfg.Owner && row.Expires.After(c.status.Now) {
			return nil, fmt.Errorf("%w: row %d is held by %q until %s by the store's clock, here %q; give each a number of its own",
				ErrWorkerInUse, workerID, row.Owner, row.Expires.UTC().Format(time.RFC3339), c.cfg.Owner)
		}
		if row.Fence > c.farthest() {
			return nil, fmt.Errorf("%w: row %d has a fence more than %v ahead; wait, or raise MaxLead", ErrWorkerAheadOfClock, workerID, c.cfg.MaxLead)
		}
		row.WorkerID = workerID
		if l, err := c.take(row); l != nil || err != nil {
			return l, err
		}
	}
	return nil, c.ctx.Err()
}

// take claims a row that was read as old. It returns neither a lease nor an error when somebody else was
// faster. The slice that it grants begins above the fence in the predicate of the swap, and nowhere else.
func (c *claim) take(old Row) (*lease, error) {
	l := &lease{
		store:     c.store,
		domain:    c.domain,
		namespace: c.meta.Namespace,
		window:    max(int64(c.cfg.Window/c.domain.Layout.Unit), 1),
		maxDelta:  c.alloc.MaxDelta(),
		ttl:       2 * c.cfg.Window,
		guarantee: GuaranteeFenced,
		first:     old.Fence + 1,
		used:      max(old.Fence, c.now),
		at:        c.now,
	}
	if c.status.Lossy {
		l.guarantee = GuaranteeLossy
	}
	l.span = l.window
	next := Row{
		WorkerID: old.WorkerID,
		Version:  old.Version + 1,
		Fence:    above(max(old.Fence, c.now), c.domain.Prepared+l.window, max(old.Fence, l.maxDelta)),
		Token:    rand.Text(),
		Owner:    c.cfg.Owner,
		Identity: c.status.Identity,
	}
	l.row = next
	ok, err := c.store.Swap(c.ctx, old, next, l.ttl)
	if ok && err == nil {
		return l, nil
	}
	if err == nil {
		return nil, nil
	}
	// It is not known whether the swap took effect: that is not success. The token tells.
	found, errLoad := c.store.Load(c.ctx, old.WorkerID)
	if errLoad == nil && found.same(next) {
		return l, nil
	}
	return nil, fmt.Errorf("assigner: claim row %d: %w", old.WorkerID, errors.Join(err, errLoad))
}
