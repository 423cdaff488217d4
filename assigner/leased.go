package assigner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// A LeaseConfig says how leases are taken and renewed. Its zero value is ready to use. All
// processes of a namespace use the same Window, MaxLead, MaxSkew and FirstWorkerID.
type LeaseConfig struct {
	// Window is how long the store may be out of reach, at the present rate of use, before a
	// generator runs out of deltas; at least one unit. A renewal reaches two windows ahead, and is
	// due when one of them is left; a claim reaches one window ahead, since the rate is not known
	// yet. That is also how much ID time a crash wastes. A store that may forget gives one window
	// at most, of real time, and bridges half of it. Zero: 30 s.
	Window time.Duration
	// MaxLead is how far ahead of the clock a fence may lie for its worker ID to be taken. Each
	// start reaches as far ahead as the generator prepares, which is 2^BoostPower units, and a
	// window. On a store with an identity a quarantine covers MaxLead, and takes as long. Zero: two
	// windows and the most that a generator of the namespace prepares, on a store with an identity;
	// 24 h on others.
	MaxLead time.Duration
	// MaxSkew is how far the clocks of this host and of the store may differ: the fence of a host
	// whose clock is wrong would spoil a worker ID for all holders after it. Zero: 1 min.
	MaxSkew time.Duration
	// FirstWorkerID is the smallest worker ID of the namespace; it has those from there to the
	// largest of the layout. It leaves the smaller ones to worker IDs that come from elsewhere,
	// such as Disposable ones in the same database. All processes of a namespace use the same.
	// Zero: the whole worker field.
	FirstWorkerID int64
	// Owner names this process in the store, for people. Empty: host name and process number.
	Owner string
	// AllowUndurable accepts a store that may forget what it has acknowledged, with a warning. Then
	// nothing keeps a worker ID from being used twice after a crash of the store.
	AllowUndurable bool
	// Logger receives that warning; nil: none.
	Logger *slog.Logger
}

// Leased takes worker IDs from a pool in a store: first one that an earlier holder has left, by
// releasing it or by not renewing it for two windows, and a new one when there is none. Expiry only
// says when a worker ID may be offered again. The fence keeps two holders apart: each claim and
// each renewal hands out a slice of deltas that no other hands out, whatever clocks, pauses and
// messages that arrive late do. Prior art are the windows of timestamp oracles (Percolator, TiKV
// PD) and segment allocation (Leaf, TinyId).
//
// Assign returns [ErrWorkersExhausted] when all worker IDs are held, and [ErrWorkerAheadOfClock]
// when the free ones were used more than MaxLead ahead; both errors, and [ErrQuarantined], have a
// method RetryAfter() time.Duration.
//
// The grant is [GuaranteeFenced], on a store that calls itself lossy [GuaranteeLossy]. There, give
// each generator an assigner of its own: those that share one come out of quarantine one after the
// other.
func Leased(store Store, cfg LeaseConfig) Assigner {
	return newLeaser(store, cfg, func(c *claim) (*lease, error) { return c.from(recycledFirst) })
}

// Auto is [Leased] in the other order: new worker IDs while they last, then recycled ones.
func Auto(store Store, cfg LeaseConfig) Assigner {
	return newLeaser(store, cfg, func(c *claim) (*lease, error) { return c.from(newFirst) })
}

// Fenced puts a fence behind a worker ID that comes from elsewhere. While another owner holds a
// lease on it, Assign returns [ErrWorkerInUse], naming owner and process; the same owner takes it
// over at once, which the fence keeps safe. owner tells two processes apart that must not share the
// number, and stays the same over their restarts, such as a host name or an address.
//
// Two live processes with one owner are a mistake. Each takes the number from the other until one
// of them has lost it twice in a row: from then on its Assign returns [ErrWorkerInUse] as long as
// the other holds the number. A second generator of one owner in one process is refused in the same
// way.
func Fenced(store Store, workerID int64, owner string, cfg LeaseConfig) Assigner {
	l := newLeaser(store, cfg, func(c *claim) (*lease, error) { return c.fixed(workerID) })
	l.cfg.Owner, l.atOnce = owner, true
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
	holder string // host and process number
	atOnce bool   // the same owner takes a row over before it expires
	err    error  // the mistakes of the configuration

	// What a simulation does in its own way.
	shuffle func(n int, swap func(i, j int))
	pause   func(ctx context.Context, try int)
	clock   func() instant

	mu      sync.Mutex
	waiting []*lease // in quarantine, until their callers come back
	rival   rivalry
}

func newLeaser(store Store, cfg LeaseConfig, choose func(*claim) (*lease, error)) *leaser {
	cfg.Window = cmp.Or(cfg.Window, 30*time.Second)
	cfg.MaxSkew = cmp.Or(cfg.MaxSkew, time.Minute)
	host, _ := os.Hostname() // for people: the process number alone will do
	holder := fmt.Sprintf("%s pid %d", host, os.Getpid())
	cfg.Owner = cmp.Or(cfg.Owner, holder)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	l := &leaser{store: store, cfg: cfg, choose: choose, holder: holder, shuffle: rand.Shuffle, pause: backOff, clock: hostClock()}
	if store == nil {
		l.err = errors.Join(l.err, errors.New("assigner: store nil, allowed: any"))
	}
	if cfg.FirstWorkerID < 0 {
		l.err = errors.Join(l.err, fmt.Errorf("assigner: FirstWorkerID %d, allowed: 0 or more, and within the worker field", cfg.FirstWorkerID))
	}
	for _, span := range []struct {
		name  string
		value time.Duration
		zero  string
	}{{"Window", cfg.Window, "30 s"}, {"MaxLead", cfg.MaxLead, "see there"}, {"MaxSkew", cfg.MaxSkew, "1 min"}} {
		if span.value < 0 {
			l.err = errors.Join(l.err, fmt.Errorf("assigner: %s %v, allowed: 0 (%s) or more", span.name, span.value, span.zero))
		}
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
	if a.cfg.FirstWorkerID > d.MaxWorkerID() {
		return nil, fmt.Errorf("%w: FirstWorkerID %d, allowed with layout %v: 0 to %d", ErrWorkerOutOfRange, a.cfg.FirstWorkerID, d.Layout, d.MaxWorkerID())
	}
	for {
		c := &claim{terms: terms{leaser: a, domain: d, alloc: alloc}, ctx: ctx}
		l, err := c.run()
		switch {
		case err == nil:
			return l, nil
		case !errors.Is(err, errMoved) || ctx.Err() != nil:
			return nil, err
		}
	}
}
