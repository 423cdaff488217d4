package chaos

import (
	"bufio"
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/test/process"
	"github.com/uidring/uidring/internal/test/testkit"
)

// The test passes the profile in the environment, and commands as lines on standard input: how far
// the clock is to be off, and the word again for another generator. The holder writes messages to
// standard output, and ends when its standard input ends.
const (
	profileEnv = "UIDRING_CHAOS_PROFILE"
	again      = " again"
)

// A profile configures a holder.
type profile struct {
	DSN            string
	Number         int    // of the holder, from 1
	Kind           string // of assigner: leased, auto, fenced
	WorkerID       int64  // with fenced
	Owner          string // with fenced: successors have the same
	Window         time.Duration
	AllowUndurable bool
	MaxSkew        time.Duration
	MaxLead        time.Duration
	StartTimeout   time.Duration // of an ordinary day; 0: a start waits as long as it has to
	Clock          time.Duration // how far the clock is off at first
	Rate           int           // IDs a second that it asks for
}

// open returns a handle for the DSN of a server.
func open(dsn string) (*sqlx.DB, error) {
	if strings.HasPrefix(dsn, "postgres:") {
		return sqlx.Open("pgx", dsn)
	}
	return sqlassigner.OpenMySQL(dsn)
}

func (p profile) assigner(db *sqlx.DB) assigner.Assigner {
	store := sqlassigner.LeaseStore(db, "chaos", sqlassigner.Config{})
	cfg := assigner.LeaseConfig{Window: p.Window, MaxLead: p.MaxLead, MaxSkew: p.MaxSkew, AllowUndurable: p.AllowUndurable}
	switch p.Kind {
	case "auto":
		return assigner.Auto(store, cfg)
	case "fenced":
		cfg.Owner = p.Owner
		return assigner.Fenced(store, assigner.Static(p.WorkerID), cfg)
	}
	return assigner.Leased(store, cfg)
}

// A message of a holder has IDs, or tells of an error.
type message struct {
	IDs          []int64
	First        *first // with the first IDs of a generator
	Error        string // with its place
	Undocumented bool   // for the place
}

// A first tells of the first ID of a generator.
type first struct {
	Took   time.Duration // since the first call of New
	Failed int           // calls of New
	Ahead  time.Duration // of the clock
	After  int64         // how far, in units, it is above the last ID of the worker ID; set by the judge
}

// The places of errors.
const (
	inNew   = "New: "
	inTake  = "Next: "
	inRenew = "renewal: "
	inLost  = "lost lease: "
	inClose = "Close: "
)

// documented returns the documented error that err matches at a place, or nil.
func documented(place string, err error) error {
	allowed := []error{ // a call to the store has failed
		assigner.ErrWorkersExhausted, assigner.ErrWorkerInUse, assigner.ErrWorkerAheadOfClock, leasestore.ErrClockSkew,
		sqlassigner.ErrUnreachable, context.DeadlineExceeded,
	}
	switch place {
	case inTake:
		allowed = []error{cached.ErrLeaseExhausted}
	case inLost:
		allowed = []error{assigner.ErrWorkerRowLost}
	}
	for _, sentinel := range allowed {
		if errors.Is(err, sentinel) {
			return sentinel
		}
	}
	// Close hides the context of its own call to the store.
	if place == inClose && strings.Contains(err.Error(), context.DeadlineExceeded.Error()) {
		return context.DeadlineExceeded
	}
	return nil
}

// A holder runs generators in a process of its own.
type holder struct {
	profile
	again  chan struct{} // capacity 1
	offset atomic.Int64  // of the clock, in nanoseconds

	mu  sync.Mutex // of out
	out *gob.Encoder
}

// beHolder makes the program a holder if it was started as one, and does not return then.
func beHolder() {
	h := &holder{again: make(chan struct{}, 1), out: gob.NewEncoder(os.Stdout)}
	ok, err := process.Role(profileEnv, &h.profile)
	if !ok {
		return
	}
	if err == nil {
		err = h.run()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "chaos: holder %d: %v\n", h.Number, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// run makes generators and draws from them until standard input ends.
func (h *holder) run() error {
	h.offset.Store(int64(h.Clock))
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			h.obey(in.Text())
		}
	}()
	db, err := open(h.DSN)
	if err != nil {
		return err
	}
	defer db.Close()
	cfg := h.config(h.assigner(db))
	began, failed := time.Now(), 0
	for ctx.Err() == nil {
		g, err := h.open(ctx, cfg)
		if err != nil {
			if ctx.Err() == nil {
				failed++
				h.failed(inNew, err)
				testkit.Pause(ctx, 200*time.Millisecond+rand.N(500*time.Millisecond))
			}
			continue
		}
		if err := h.draw(ctx, g, &first{Took: time.Since(began), Failed: failed}); err != nil {
			return err
		}
		if err := g.Close(); err != nil {
			h.failed(inClose, err)
		}
		began, failed = time.Now(), 0
	}
	return nil
}

func (h *holder) open(ctx context.Context, cfg cached.Config) (*cached.Generator, error) {
	if h.StartTimeout > 0 {
		return cached.New(cfg)
	}
	return cached.NewContext(ctx, cfg)
}

func (h *holder) obey(command string) {
	offset, again := strings.CutSuffix(command, again)
	if d, err := time.ParseDuration(offset); err == nil {
		h.offset.Store(int64(d))
	}
	if again {
		generator.Signal(h.again)
	}
}

func (h *holder) config(a assigner.Assigner) cached.Config {
	timeout := assignTimeout
	if h.StartTimeout > 0 {
		timeout = 0 // the default, too: a claim that takes effect after its timeout keeps its row
	}
	return cached.Config{
		Layout:        layout(),
		Assigner:      a,
		AssignTimeout: timeout,
		StartTimeout:  h.StartTimeout,
		Now:           func() time.Time { return time.Now().Add(time.Duration(h.offset.Load())) },
		Trace: cached.Trace{
			LeaseLost:   func(i assigner.LeaseInfo) { h.failed(inLost, i.Err) },
			RenewFailed: func(i assigner.LeaseInfo) { h.failed(inRenew, i.Err) },
		},
	}
}

// draw takes IDs at the rate of the profile, and writes them out, until the generator is to be
// closed.
func (h *holder) draw(ctx context.Context, g *cached.Generator, start *first) error {
	const interval = 10 * time.Millisecond
	ids := make([]int64, max(1, h.Rate*int(interval)/int(time.Second)))
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		n, now := 0, time.Now()
		var errTake error
		for ; n < len(ids); n++ {
			if ids[n], errTake = g.Next(); errTake != nil {
				break
			}
		}
		m := message{IDs: ids[:n]}
		if start != nil && n > 0 {
			fields, _ := g.Parse(ids[0])
			start.Ahead, m.First, start = fields.Time.Sub(now), start, nil
		}
		if err := h.tell(m); err != nil {
			return fmt.Errorf("write IDs: %w", err)
		}
		if errTake != nil && ctx.Err() == nil {
			h.failed(inTake, errTake)
			testkit.Pause(ctx, 100*time.Millisecond)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-h.again:
			return nil
		case <-tick.C:
		}
	}
}

// failed tells an error. A holder that cannot tell it will not write IDs either.
func (h *holder) failed(place string, err error) {
	sentinel := documented(place, err)
	_ = h.tell(message{Error: place + cmp.Or(sentinel, err).Error(), Undocumented: sentinel == nil})
}

func (h *holder) tell(m message) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.out.Encode(m)
}
