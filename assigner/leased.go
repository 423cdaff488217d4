package assigner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/check"
	"github.com/uidring/uidring/internal/storecall"
)

// A LeaseConfig configures how [Leased], [Auto] and [Fenced] take and renew leases. Its zero value
// is ready to use. All processes of a namespace must use the same Window, MaxLead, MaxSkew and
// FirstWorkerID. The three spans are 1 ms to ten years each.
type LeaseConfig struct {
	// Window is how far ahead of use a lease reaches, and so how long the store may be unreachable,
	// at the present rate of use, before a generator runs out of deltas. It is at least one unit. A
	// renewal reaches two windows ahead, and is due when one window is left. A claim reaches one
	// window ahead, since the rate is not known yet. A ring of package cached that holds more units
	// than the grant is not full. A lossy store grants at most one window of real time, and
	// bridges an outage of half a window. Zero: 2 min.
	//
	// A holder that starts ahead of the clock, such as after a crash, has IDs for a second of ID
	// time at first. Each renewal then reaches as far as it uses deltas in two windows.
	//
	// The default outlasts the failover of a managed database, which takes up to two minutes. After
	// a crash the next holder starts up to two windows ahead of the clock; after a release it goes
	// on where the last one stopped. A longer window also delays the reuse of worker IDs and the
	// end of a quarantine.
	//
	// The window follows the rate of use, and at most doubles with a renewal. A generator of
	// package cached that issues IDs at full speed from its start, such as a benchmark, uses up the
	// first windows before the store answers: with bitsalloc.Default, Next returns
	// ErrLeaseExhausted for part of the first half second, and NextContext waits. With
	// bitsalloc.Recommended or a Window of 10 minutes the first windows suffice if the store
	// answers within 10 ms.
	Window time.Duration
	// MaxLead is how far ahead of the clock the fence of a free worker ID may lie; a claim skips
	// worker IDs with higher fences. When the Identity in the Status of a store changes, claims
	// begin above a bound that is MaxLead (at least two windows), half a window, a unit and twice
	// MaxSkew ahead of the clock, and wait until it is MaxLead ahead, see [ErrQuarantined]. Zero:
	// two and a half windows on a store with an Identity that is not lossy, else 24 h.
	MaxLead time.Duration
	// MaxSkew is how far the clocks of this host and of the store may differ at a claim or renewal:
	// a host whose clock is ahead would raise a fence out of reach of later holders. Zero: 1 min.
	MaxSkew time.Duration
	// FirstWorkerID is the smallest worker ID of the namespace, 0 to the largest of the layout.
	// Smaller worker IDs are left to other sources, such as Disposable in the same database. Zero:
	// the whole worker field.
	FirstWorkerID int64
	// Owner names this process in the store, to be read by people: up to 255 characters of UTF-8
	// without NUL. Empty: host name and process number. It must differ from the owners of [Fenced]
	// in the namespace, which take each other's worker IDs at once: a failover that loses such a
	// claim could leave two holders. Fenced requires it.
	Owner string
	// AllowUndurable accepts a store whose settings let it forget acknowledged commits, and logs a
	// warning. After a crash of such a store two holders may use the same deltas of a worker ID.
	AllowUndurable bool
	// Logger receives warnings; nil: slog.Default().
	Logger *slog.Logger
}

// Leased returns an assigner that leases worker IDs from a store. It prefers a worker ID that an
// earlier holder has released, or has not renewed for two windows, and that the generator can use
// at once, see Domain.MaxAhead. Otherwise it takes a new one, then one for which the generator has
// to wait for the clock. Expiry only decides when a worker ID is offered again; the fence keeps two
// holders apart. Each claim and each renewal raises the fence and grants a range of deltas that no
// other claim or renewal grants, unless a release has given them back unused. Wrong clocks, pauses
// and delayed messages do not change that. The algorithm follows timestamp oracles (Percolator,
// TiKV PD) and segment allocation (Leaf, TinyId).
//
// Assign returns [ErrWorkersExhausted] when all worker IDs are held, and [ErrWorkerAheadOfClock]
// when the fences of all free ones are more than MaxLead ahead of the clock. Both errors, and
// [ErrQuarantined], pass after the time of uidring.RetryAfter.
//
// The grant is [GuaranteeFenced], or [GuaranteeLossy] on a store that reports itself lossy or has
// faults. On a lossy store, give each generator an assigner of its own: generators that share one
// leave quarantine one after the other.
func Leased(store leasestore.Store, cfg LeaseConfig) Assigner { return newLeaser(store, cfg) }

// Auto is [Leased] in the other order: it takes new worker IDs while they last, and then reuses
// free ones.
func Auto(store leasestore.Store, cfg LeaseConfig) Assigner {
	l := newLeaser(store, cfg)
	l.newFirst = true
	return l
}

// Fenced returns an assigner that leases only the worker ID that source gives at each Assign. In a
// pod of a StatefulSet whose name is in the environment variable POD_NAME:
//
//	numbers := assigner.Fenced(store, assigner.StatefulSet("POD_INDEX"), assigner.LeaseConfig{Owner: os.Getenv("POD_NAME")})
//
// While another owner holds the worker ID, Assign returns [ErrWorkerInUse] with the other owner and
// process. The same owner takes the worker ID over at once, and the fence keeps that safe. Owner is
// required. It must differ between processes that must not share the worker ID, and must stay the
// same over restarts, such as a host name or an address.
//
// The lease of source is neither renewed nor released, so its grant has to be [GuaranteeDerived]:
// [Static], [Env], [IPv4Suffix], [IPSum], [Hostname] and [StatefulSet] suit. With Fenced, two live
// processes for which they give the same number do not issue the same IDs.
//
// Two live processes with one owner are a mistake. Each takes the worker ID from the other until
// one of them has lost it twice since it was last free; its Assign then returns [ErrWorkerInUse] as
// long as the other process holds the worker ID. A second generator with one owner in one process
// is rejected with the same error.
func Fenced(store leasestore.Store, source Assigner, cfg LeaseConfig) Assigner {
	l := newLeaser(store, cfg)
	l.config.Check(cfg.Owner != "", "Owner", `""`, "a name that differs between processes")
	l.config.Check(source != nil, "source", "nil", "an assigner such as Static or StatefulSet")
	l.source = source
	return l
}

// A leaser is an assigner on a store.
type leaser struct {
	store    leasestore.Store
	cfg      LeaseConfig
	newFirst bool     // Auto
	source   Assigner // of Fenced, which takes a row of the same owner before it expires; else nil
	holder   string   // host and process number
	config   check.Checker

	// A simulation replaces these.
	shuffle func(n int, swap func(i, j int))
	pause   func(ctx context.Context, try int)
	clock   func() instant

	mu      sync.Mutex
	waiting []*lease // in quarantine, until a caller calls Assign again

	faults atomic.Pointer[string] // of the store at the last look
	losses atomic.Int64           // of the row, to other processes of the same owner, since it was last free
	// setBack is 1 above Meta.Fence of a lease that has found its row missing or set back; 0: none
	// has, or recognise has stored a bound since.
	setBack atomic.Int64
}

// maxSpan, ten years, keeps sums of spans from overflowing.
const maxSpan = 87600 * time.Hour

func newLeaser(store leasestore.Store, cfg LeaseConfig) *leaser {
	cfg.Window = cmp.Or(cfg.Window, 2*time.Minute)
	cfg.MaxSkew = cmp.Or(cfg.MaxSkew, time.Minute)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	host, _ := os.Hostname() // for people: the process number alone will do
	holder := fmt.Sprintf("%s pid %d", host, os.Getpid())
	cfg.Owner = cmp.Or(cfg.Owner, holder)
	l := &leaser{store: store, cfg: cfg, holder: holder, shuffle: rand.Shuffle, pause: backOff, clock: hostClock}
	l.config.Check(store != nil, "store", "nil", "a store")
	l.config.Check(cfg.Window >= time.Millisecond && cfg.Window <= maxSpan, "Window", cfg.Window, "0 (2 min), or 1ms to %v", maxSpan)
	l.config.Check(cfg.MaxLead == 0 || cfg.MaxLead >= time.Millisecond && cfg.MaxLead <= maxSpan, "MaxLead", cfg.MaxLead, "0 (default), or 1ms to %v", maxSpan)
	l.config.Check(cfg.MaxSkew >= time.Millisecond && cfg.MaxSkew <= maxSpan, "MaxSkew", cfg.MaxSkew, "0 (1 min), or 1ms to %v", maxSpan)
	l.config.Check(cfg.FirstWorkerID >= 0, "FirstWorkerID", cfg.FirstWorkerID, "0 to the largest worker ID of the layout")
	l.config.Check(utf8.ValidString(cfg.Owner) && utf8.RuneCountInString(cfg.Owner) <= 255 && !strings.Contains(cfg.Owner, "\x00"),
		"Owner", strconv.Quote(cfg.Owner), "up to 255 characters of UTF-8 without NUL")
	return l
}

// Validate returns the mistakes of the LeaseConfig. The Validate of a generator's Config calls it.
func (a *leaser) Validate() error { return a.config.Err() }

// Assign implements [Assigner].
func (a *leaser) Assign(ctx context.Context, d Domain) (Lease, error) {
	if err := a.config.Err(); err != nil {
		return nil, err
	}
	alloc, err := bitsalloc.New(d.Layout, d.Epoch)
	if err != nil {
		return nil, err
	}
	if err := d.CheckWorkerID(a.cfg.FirstWorkerID, "FirstWorkerID"); err != nil {
		return nil, err
	}
	if d.KeptFor < 0 || d.KeptFor > storecall.KeepBound {
		return nil, fmt.Errorf("assigner: Domain.KeptFor is %v, allowed: 0 to %v", d.KeptFor, storecall.KeepBound)
	}
	ctx, end := storecall.Operation(ctx)
	defer end()
	for rounds, moved := 0, error(nil); ; rounds++ {
		c := &claim{leaser: a, terms: terms{a.cfg, d, alloc}, ctx: ctx, seat: &seat{}}
		l, err := c.run()
		if err == nil {
			return l, nil
		}
		if c.seat.leave(); errors.Is(err, errMoved) {
			moved = err
		}
		switch {
		case moved != nil && ctx.Err() != nil: // err may be about a lack of time
			return nil, fmt.Errorf("%w (%w)", moved, ctx.Err())
		case !errors.Is(err, errMoved):
			return nil, err
		case rounds > 0: // an address that leads to two servers in turn
			a.wait(ctx, rounds)
		}
	}
}
