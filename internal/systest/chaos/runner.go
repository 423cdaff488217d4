package chaos

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/process"
)

// The parent passes the profile in the environment, and commands as lines on standard input. The
// process writes events as JSON to standard output, and IDs as 64 bits each, little endian, to
// the file descriptor idsFile. The process ends when its standard input ends.
const (
	profileEnv   = "UIDRING_CHAOS_PROFILE"
	idsFile      = 3
	commandAgain = "again" // close the generator and make another
	commandClock = "clock" // followed by how far the clock is to be off
)

// An event is a report of a process about its generator.
type event struct {
	Kind     string // eventLeased, or the place of an error
	WorkerID int64  // with eventLeased
	Error    string // name of a documented error
	Text     string // of an error that is not documented there
}

const eventLeased = "lease taken"

// runChild makes the program a process of the run if it was started as one, and does not return
// then.
func runChild() {
	r := &runner{events: json.NewEncoder(os.Stdout), ids: os.NewFile(idsFile, "ids"), again: make(chan struct{}, 1)}
	ok, err := process.Role(profileEnv, &r.profile)
	if !ok {
		return
	}
	if err == nil {
		r.offset.Store(int64(r.profile.Clock))
		err = r.run()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "chaos: process %d: %v\n", r.profile.Number, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A runner runs generators in the child.
type runner struct {
	profile profile
	ids     *os.File
	again   chan struct{} // capacity 1
	offset  atomic.Int64  // of the clock, in nanoseconds

	mu     sync.Mutex // of events
	events *json.Encoder
}

// run makes generators and draws from them until the parent closes standard input.
func (r *runner) run() error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			r.obey(in.Text())
		}
	}()
	db, err := sqlassigner.OpenMySQL(r.profile.DSN)
	if err != nil {
		return err
	}
	defer db.Close()
	a, err := r.profile.assigner(db)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		g, err := cached.NewContext(ctx, r.config(a))
		if err != nil {
			if ctx.Err() == nil {
				r.failed(inNew, err)
				pause(ctx, 200*time.Millisecond+rand.N(500*time.Millisecond))
			}
			continue
		}
		if err := r.draw(ctx, g); err != nil {
			return err
		}
		if err := g.Close(); err != nil {
			r.failed(inClose, err)
		}
	}
	return nil
}

func (r *runner) config(a assigner.Assigner) cached.Config {
	return cached.Config{
		Layout:        r.profile.Layout,
		Assigner:      a,
		AllowReuse:    true, // of derived worker IDs
		AssignTimeout: assignTimeout,
		OnEmpty:       r.profile.OnEmpty,
		Now:           func() time.Time { return time.Now().Add(time.Duration(r.offset.Load())) },
		Trace: cached.Trace{
			LeaseAssigned: func(g assigner.Grant) { r.tell(event{Kind: eventLeased, WorkerID: g.WorkerID}) },
			LeaseLost:     func(_ int64, err error) { r.failed(inLost, err) },
			RenewFailed:   func(err error) { r.failed(inRenew, err) },
		},
	}
}

func (r *runner) obey(command string) {
	if text, ok := strings.CutPrefix(command, commandClock+" "); ok {
		if d, err := time.ParseDuration(text); err == nil {
			r.offset.Store(int64(d))
		}
		return
	}
	select {
	case r.again <- struct{}{}:
	default:
	}
}

// draw takes IDs at the rate of the profile, and writes them out, until the generator is to be
// closed.
func (r *runner) draw(ctx context.Context, g *cached.Generator) error {
	const interval = 10 * time.Millisecond
	ids := make([]int64, max(1, r.profile.Rate*int(interval)/int(time.Second)))
	var words []byte
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		n, errTake := r.take(ctx, g, ids)
		words = words[:0]
		for _, id := range ids[:n] {
			words = binary.LittleEndian.AppendUint64(words, uint64(id))
		}
		if _, err := r.ids.Write(words); err != nil {
			return fmt.Errorf("write IDs: %w", err)
		}
		if errTake != nil && ctx.Err() == nil {
			r.failed(inTake, errTake)
			pause(ctx, 100*time.Millisecond)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-r.again:
			return nil
		case <-tick.C:
		}
	}
}

// take fills ids in the way of the profile, as far as there are any.
func (r *runner) take(ctx context.Context, g *cached.Generator, ids []int64) (n int, err error) {
	next := g.Next
	switch r.profile.Mode {
	case "fill":
		return g.Fill(ids)
	case "context":
		ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		next = func() (int64, error) { return g.NextContext(ctx) }
	}
	for n = range ids {
		if ids[n], err = next(); err != nil {
			return n, err
		}
	}
	return len(ids), nil
}

func (r *runner) failed(place string, err error) {
	e := event{Kind: place}
	if e.Error = classify(place, err); e.Error == "" {
		e.Text = err.Error()
	}
	r.tell(e)
}

// tell writes an event. It ignores errors: they mean that the parent is gone, and then standard
// input ends as well.
func (r *runner) tell(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.events.Encode(e)
}

// pause waits, unless ctx ends, and reports whether it has not.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
